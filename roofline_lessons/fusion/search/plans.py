"""Looking for the fastest plan, and for the fastest tile of each kernel of a plan.

Exact where each operator reads the one before it (a chain, also with side inputs that skip ahead): `slices.py`. Exact,
too, on small graphs with branches: `exact.py`. On larger ones the kernels are slices of one order of the operators
(`order.py`), and the greedy plans of the rule sets compete; that may miss the best.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...device import Device
from ...errors import FusionError, whole
from ...graph import Graph, Operator
from ...precision import Precision, precision
from ..fuse import fuse
from ..kernel import Kernel
from ..legality import working_producers
from ..options import described
from ..plan import Plan
from ..rules import RuleSet, objection, rule_set
from ..tiling import Tiling
from .exact import fastest
from .order import depth_first_order
from .pricing import Pricer
from .slices import Slices

#: Graphs with branches are searched exactly up to so many operators.
MOST_EXACT = 10

_precision = precision  # the functions' parameter of the same name hides the import


@described
def choose_tiles(plan: Plan, device: Device, precision: str | Precision = "fp32", halo: str = "recompute") -> Plan:
    """The same kernels, each that works tile by tile with the fastest tile that fits the chip.

    Parameters
    ----------
    plan : Plan
    device : Device
        Where its on-chip capacity is not known, everything fits, and the whole output is one tile.
    precision : str or Precision
    {halo}

    Returns
    -------
    Plan

    Raises
    ------
    FusionError
        A kernel that fits with none of the tiles, with the bytes that the smallest is over.

    Notes
    -----
    Tried are heights and widths of the output in 1, 2, 3, 4, 6, 8 … parts (`tile_sizes`), every pair of them.

    Examples
    --------
    >>> from roofline_lessons import Device, fuse, networks
    >>> toy = Device("toy", peak={"fp32": 1e12}, bandwidth=1e11, on_chip_bytes=228 * 1024)
    >>> plan = fuse(networks.convolution_chain("WWWW"), rules="depth-first")
    >>> choose_tiles(plan, toy).kernels[0].tiling.tile
    (14, 14)
    """
    pricer = Pricer(plan.graph, device, _precision(precision), fold=plan.fold, tile=None, halo=halo)
    tilings = [pricer.fastest_tile(k) if k.tiling else None for k in plan.kernels]
    return Plan(plan.graph, [k.operators for k in plan.kernels], fold=plan.fold, tiling=tilings, rules=plan.rules)


@described
def best_plan(
    graph: Graph,
    device: Device,
    precision: str | Precision = "fp32",
    *,
    rules: str | RuleSet | None = None,
    depth: int | None = None,
    tile: int | tuple[int, int] | None = None,
    halo: str = "recompute",
    fold: bool | None = None,
) -> Plan:
    """The fastest plan under the cost model.

    Parameters
    ----------
    graph : Graph
    device : Device
        Its on-chip capacity limits kernels that are cut into tiles; unknown, everything fits.
    precision : str or Precision
    rules : str or RuleSet, optional
        Only kernels that this rule set makes; by default every legal kernel whose operators share tensors.
    {depth}
    {tile}
        By default each has the fastest of those that fit (`choose_tiles`).
    {halo}
    {fold}
        By default what the rule set does; without one yes.

    Returns
    -------
    Plan

    Raises
    ------
    UnknownNameError
        A rule set, halo mode or precision that does not exist.
    FusionError
        The rule set "tvm", which makes one plan of a graph and leaves nothing to choose.

    Notes
    -----
    Exact on graphs with branches of up to `MOST_EXACT` operators, by a shortest path over the sets of operators that
    may be done. Where each operator reads the one before it, dynamic programming over the ends of kernels is exact,
    too. On other graphs each kernel is a slice of one depth-first order of the operators, and what the greedy rule
    sets find competes: good plans, not proven the best. In the latter two a kernel whose output is cut into tiles
    holds at most `tiled_slices.MOST_HEAVY` convolutions, poolings or products; in one tile it may hold any number.

    Examples
    --------
    >>> from roofline_lessons import Device, networks
    >>> toy = Device("toy", peak={"fp32": 1e12}, bandwidth=1e11, launch_seconds=5e-6)
    >>> best_plan(networks.convolution_chain("WDWD"), toy, tile=14).kernels
    (<Kernel depthwise_0 dense_1>, <Kernel depthwise_2 dense_3>)
    """
    chosen = None if rules is None else rule_set(rules)
    folds = fold if fold is not None else (chosen.folds if chosen else True)
    cut = None if tile is None else Tiling(tile, halo)  # type: ignore[arg-type]
    pricer = Pricer(graph, device, _precision(precision), fold=folds, tile=cut, halo=halo)
    most = len(graph) if depth is None else whole("depth", depth)
    if chosen is not None and chosen.patterns is not None:
        raise FusionError(f"“{chosen.name}” decides by post-dominators and leaves nothing to search: use fuse.")
    path, small = _is_path(graph), sum(not op.is_view for op in graph) <= MOST_EXACT
    if small and not path:
        kernels = fastest(graph, pricer, lambda ops: _joins(chosen, graph, ops), most)
    else:
        kernels = Slices(depth_first_order(graph), pricer, chosen).solve(most)
    found = _plan(pricer, kernels, chosen)
    if (path or small) and not (chosen and chosen.subgraphs):
        return found
    return min([found, *_greedy(pricer, chosen, most)], key=lambda plan: sum(map(pricer.seconds, plan.kernels)))


def _is_path(graph: Graph) -> bool:
    """Each operator reads the one before it: there is one order to run them in, and kernels are slices of it."""
    working = [op for op in graph if not op.is_view]
    return all(a in working_producers(graph, b) for a, b in zip(working, working[1:]))


def _plan(pricer: Pricer, kernels: Sequence[Kernel], rules: RuleSet | None) -> Plan:
    name = f"best of {rules.name}" if rules else "best"
    groups = [k.operators for k in kernels]
    return Plan(pricer.graph, groups, fold=pricer.fold, tiling=[k.tiling for k in kernels], rules=name)


def _joins(rules: RuleSet | None, graph: Graph, operators: Sequence[Operator]) -> bool:
    """Whether a rule set, operator by operator, makes this kernel."""
    if rules is None:
        return True
    return all(objection(rules, graph, operators[:i], operators[i]) is None for i in range(1, len(operators)))


def _greedy(pricer: Pricer, rules: RuleSet | None, depth: int) -> list[Plan]:
    """The greedy plans of the rule set, or of a few where there is none, as far as they fit the chip."""
    plans = []
    for name in [rules] if rules else ["epilogue", "depth-first"]:
        plan = fuse(pricer.graph, name, depth, fold=pricer.fold)
        try:
            plans.append(_plan(pricer, [pricer.kernel(k.operators) for k in plan.kernels], rules))
        except FusionError:
            continue  # a kernel of it does not fit
    return plans
