"""An estimate as pandas tables: its kernels, and every trip of a tensor to DRAM."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

    from .estimate import Estimate

_COLUMNS = "name macs flops dram_bytes on_chip_bytes intensity seconds seconds_no_overlap bound because".split()


def kernels(est: Estimate) -> pandas.DataFrame:
    """The kernels, one row each, SI units in the column names."""
    import pandas

    return pandas.DataFrame([{c: getattr(k, c) for c in _COLUMNS} for k in est.kernels], columns=_COLUMNS)


def ledger(est: Estimate) -> pandas.DataFrame:
    """Every trip of a tensor to or from DRAM: kernel, direction, tensor, dram_bytes."""
    import pandas

    moved = est.plan.dram_moves.bytes_per_move(est.precision.weight_bits, est.precision.activation_bits)
    rows = [
        (est.plan.kernels[i].name, direction, transfer.tensor.name, int(amount))
        for (i, direction, transfer), amount in zip(est.plan.dram_transfers, moved, strict=True)
    ]
    rows += [
        (est.plan.kernels[i].name, "again", "what does not fit the chip", int(amount))
        for i, amount in enumerate(est.again_dram_bytes)
        if amount
    ]
    return pandas.DataFrame(rows, columns=["kernel", "direction", "tensor", "dram_bytes"])
