"""The device catalogue: known ridge points, traps of other people's tables, and what every number says of itself."""

import pytest

import roofline_lessons as rl
from roofline_lessons.device import EVIDENCE

DEVICES = [rl.device(id) for id in rl.devices()]
IDS = rl.devices()

#: Kinds of device from the smallest to the largest: the order of the catalogue.
KINDS = [
    "microcontroller",
    "single-board computer",
    "edge accelerator",
    "phone",
    "laptop",
    "desktop",
    "server CPU",
    "data-centre accelerator",
]

UNITS = {
    "peak": "FLOP/s",
    "vector_peak": "FLOP/s",
    "bandwidth": "B/s",
    "sustained_bandwidth": "B/s",
    "on_chip_bytes": "B",
    "launch_seconds": "s",
    "static_watts": "W",
    "joules_per_flop": "J/FLOP",
    "joules_per_dram_byte": "J/B",
    "joules_per_on_chip_byte": "J/B",
    "bytes": "B",
    "bytes_per_second": "B/s",
}


def unit_of(key):
    parts = key.split(".")
    return UNITS[parts[-1] if parts[0] == "levels" else parts[0]]


# -- known answers -----------------------------------------------------------------------------------------------------

# references.json, derived_ridge_points_FLOP_per_byte: dense peak / theoretical bandwidth. Its Raspberry Pi 5 divides by
# 17.1 GB/s where LPDDR4X-4267 x 32 bit is 17.07, its Jetson Nano rounds to 471.6 GFLOP/s, its TPU v4 has 1.228 TB/s.
RIDGES = [
    ("a100-sxm-40gb", "fp16", 200.64308681672026, 1e-9),  # also faults.md C3
    ("a100-sxm-80gb", "fp16", 153.01618440411966, 1e-9),
    ("h100-sxm", "bf16", 295.34328358208955, 1e-9),  # also faults.md C1, C4
    ("h200-sxm", "bf16", 206.125, 1e-9),
    ("b200-sxm", "bf16", 281.25, 1e-9),
    ("v100-sxm2", "fp16", 138.88888888888889, 1e-9),
    ("mi300x", "bf16", 246.67924528301887, 1e-9),
    ("tpu-v4", "bf16", 223.94136807817588, 2e-3),
    ("tpu-v5e", "bf16", 240.53724053724054, 1e-9),
    ("tpu-v5e", "int8", 481.07448107448107, 1e-9),
    ("jetson-agx-orin-64gb", "int8", 415.0390625, 1e-9),
    ("jetson-orin-nano", "int8", 300.1464128843338, 1e-9),
    ("jetson-orin-nano-super", "int8", 326.171875, 1e-9),
    ("jetson-nano", "fp16", 18.421875, 1e-3),
    ("raspberry-pi-4", "fp32", 3.75, 1e-9),
    ("raspberry-pi-5", "fp32", 8.982456140350877, 2e-3),
    ("raspberry-pi-5", "int8", 35.92982456140351, 2e-3),
]


@pytest.mark.parametrize("id, precision, ridge, tolerance", RIDGES)
def test_ridge_points(id, precision, ridge, tolerance):
    assert rl.device(id).ridge(precision) == pytest.approx(ridge, rel=tolerance)


# Jouppi et al., ISCA 2017, figs 5-7: ridges of 1350, 13 and 9 that count MACs (references.md, C).
@pytest.mark.parametrize("id, precision, macs_per_byte", [
    ("tpu-v1", "int8", 1350),
    ("xeon-e5-2699-v3", "fp32", 13),
    ("k80-die", "fp32", 9),
])  # fmt: skip
def test_ridges_of_the_tpu_paper_count_macs(id, precision, macs_per_byte):
    assert rl.device(id).ridge(precision) / 2 == pytest.approx(macs_per_byte, rel=0.03)


# 16-bit AMX does 1024 FLOP per cycle and core and int8 2048, where AVX-512 does 64 fp32 (pytorch.org, AMX recipe): the
# 1024 already count a MAC as two. references.json doubles it once more (229e12 bf16).
def test_amx_counts_a_mac_as_two_once():
    xeon = rl.device("xeon-platinum-8480")
    assert xeon.peak["bf16"] / xeon.peak["fp32"] == pytest.approx(1024 / 64, rel=1e-3)
    assert xeon.peak["int8"] / xeon.peak["fp32"] == pytest.approx(2048 / 64, rel=1e-3)


# -- traps of other people's tables (faults.md, section C) -------------------------------------------------------------


# C1, C4: 590.7 is the ridge of the sparse peak.
def test_h100_ridge_is_the_dense_one():
    assert rl.device("h100-sxm").ridge("fp16") == pytest.approx(295, abs=1)


# C2: sparse and dense mixed in one table made the H200 twice as fast as the H100.
@pytest.mark.parametrize("precision", ["fp16", "bf16", "fp8", "int8"])
def test_h200_computes_like_h100(precision):
    assert rl.device("h200-sxm").peak[precision] / rl.device("h100-sxm").peak[precision] == 1.00


# C3: the 40 GB card was given the 80 GB card's bandwidth.
def test_a100_cards_differ_in_bandwidth_alone():
    small, large = rl.device("a100-sxm-40gb"), rl.device("a100-sxm-80gb")
    assert small.peak == large.peak
    assert (small.bandwidth, large.bandwidth) == (1.555e12, 2.039e12)


# C8: H100 PCIe 756, SXM 989. "H100" alone names neither.
def test_variants_are_in_the_name():
    assert rl.device("h100-pcie").peak["bf16"] == pytest.approx(756e12, rel=1e-3)
    assert rl.device("h100-sxm").peak["bf16"] == pytest.approx(989e12, rel=1e-3)
    for device in DEVICES:
        if "H100" in device.name:
            assert "SXM" in device.name or "PCIe" in device.name
        if "A100" in device.name:
            assert "40GB" in device.name or "80GB" in device.name


# references.md, Traps: advertised with 2:4 sparsity, some with the DLA engines added.
SPARSE = [
    ("h100-sxm", "fp16", 1979e12),
    ("h100-sxm", "int8", 3958e12),
    ("h100-pcie", "bf16", 1513e12),
    ("a100-sxm-40gb", "fp16", 624e12),
    ("a100-sxm-80gb", "int8", 1248e12),
    ("b200-sxm", "bf16", 4500e12),
    ("jetson-orin-nano", "int8", 40e12),
    ("jetson-orin-nano-super", "int8", 67e12),
    ("jetson-orin-nx-16gb", "int8", 100e12),
    ("jetson-agx-orin-64gb", "int8", 170e12),
    ("jetson-agx-orin-64gb", "int8", 275e12),
]


@pytest.mark.parametrize("id, precision, advertised", SPARSE)
def test_peaks_are_dense(id, precision, advertised):
    assert rl.device(id).peak[precision] < 0.55 * advertised


@pytest.mark.parametrize("device", DEVICES, ids=IDS)
def test_half_the_bits_twice_the_peak(device):
    """Mixing sparse and dense would show as four times or once."""
    if device.vector_peak and {"fp16", "int8"} <= set(device.peak):
        assert device.peak["int8"] / device.peak["fp16"] == pytest.approx(2, rel=0.01)


def test_jetson_nano_472_is_fp16():
    nano = rl.device("jetson-nano")
    assert nano.peak["fp16"] == pytest.approx(472e9, rel=1e-3)
    assert nano.peak["fp32"] == pytest.approx(236e9, rel=1e-3)


def test_coral_has_a_link_instead_of_a_dram():
    coral = rl.device("coral-edge-tpu")
    assert "link" in coral.memory
    assert "DRAM" not in coral.memory
    assert coral.bandwidth == 500e6


# No DRAM: what the bandwidth belongs to is said in one word, too.
def test_memory_that_is_no_dram_has_a_word_of_its_own():
    named = {d.id: d.memory_kind for d in DEVICES if d.memory_kind != "DRAM"}
    assert named == {
        "arduino-nano-33-ble": "SRAM",
        "stm32f746": "SRAM",
        "stm32h743": "SRAM",
        "esp32-s3": "PSRAM",
        "coral-edge-tpu": "USB",
    }
    for device in DEVICES:
        assert ("DR" in device.memory or "HBM" in device.memory) == (device.memory_kind == "DRAM"), device.id


def test_unstated_number_formats_are_left_out():
    """Apple's Neural Engine counts 11 and 15.8 TOPS in a format it does not name."""
    for id, tops in [("apple-m1", 11e12), ("apple-m2", 15.8e12)]:
        device = rl.device(id)
        assert max(device.peak.values()) < tops
        assert any("Neural Engine" in note for note in device.notes)


# -- the catalogue as a whole ------------------------------------------------------------------------------------------


def test_there_is_a_device_for_everybody():
    assert len(DEVICES) >= 22
    assert {device.kind for device in DEVICES} == set(KINDS)
    assert len({device.name for device in DEVICES}) == len(DEVICES)


def test_smallest_first():
    order = [(KINDS.index(device.kind), max(device.peak.values())) for device in DEVICES]
    assert order == sorted(order)


# The devices the lessons start from.
@pytest.mark.parametrize("id", ["stm32h743", "raspberry-pi-5", "jetson-orin-nano", "a100-sxm-40gb"])
def test_teaching_devices_have_what_the_lessons_use(id):
    device = rl.device(id)
    assert {"fp32", "int8"} <= set(device.peak)
    assert {"fp32", "int8"} <= set(device.joules_per_flop)
    assert device.on_chip_bytes
    assert device.joules_per_dram_byte > device.joules_per_on_chip_byte > device.joules_per_flop["int8"]


def test_fields_are_those_of_the_schema():
    for device in DEVICES:
        assert {"bandwidth", "on_chip_bytes", "launch_seconds", "static_watts", "joules_per_dram_byte",
                "joules_per_on_chip_byte"} <= set(device.facts)  # fmt: skip
        assert device.notes and all(note.endswith(".") for note in device.notes)
        assert device.memory and device.id == device.id.lower()


# -- every number ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES, ids=IDS)
def test_a_number_says_where_it_comes_from(device):
    for key, fact in device.facts.items():
        assert fact.unit == unit_of(key), key
        assert fact.evidence in EVIDENCE, key
        assert len(fact.source) > 5, key
        assert (fact.value is None) == (fact.evidence == "unknown"), key
        assert fact.value is None or fact.value > 0, key
        assert fact.value is None or len(fact.counts) > 1, f"{key} does not say what it counts"


def test_numbers_from_memory_are_called_estimates():
    for device in DEVICES:
        for key, fact in device.facts.items():
            if "not checked against a document" in fact.source and fact.evidence != "derived":
                assert fact.evidence == "estimated", (device.id, key)


# -- what is not known -------------------------------------------------------------------------------------------------

UNKNOWN_PEAKS = [(device, key.split(".")[1]) for device in DEVICES for key, fact in device.facts.items()
                 if key.startswith("peak.") and fact.value is None]  # fmt: skip


@pytest.mark.parametrize("device, precision", UNKNOWN_PEAKS, ids=lambda x: getattr(x, "id", x))
def test_an_unknown_peak_is_absent_and_asking_says_what_exists(device, precision):
    assert precision not in device.peak
    with pytest.raises(ValueError, match=f'no peak for "{precision}".*it has {", ".join(device.peak)}'):
        device.ridge(precision)


def test_pi_4_has_no_int8_and_says_why():
    assert rl.device("raspberry-pi-4").facts["peak.int8"].value is None
    assert "dot-product" in rl.device("raspberry-pi-4").facts["peak.int8"].source


def test_unknown_is_none():
    """Never zero: a launch that nobody measured is not a launch that is free."""
    for device in DEVICES:
        for what in ("launch_seconds", "static_watts", "on_chip_bytes", "joules_per_dram_byte"):
            assert getattr(device, what) == device.facts[what].value


# -- what must hold between numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES, ids=IDS)
def test_memory_gets_faster_inwards(device):
    roofs = list(device.roofs().values())
    assert roofs == sorted(set(roofs))


@pytest.mark.parametrize("device", DEVICES, ids=IDS)
def test_nothing_measured_beats_the_theory(device):
    measured = device.facts.get("sustained_bandwidth")
    if measured:
        assert measured.value < device.bandwidth


@pytest.mark.parametrize("device", DEVICES, ids=IDS)
def test_fewer_bits_are_never_slower(device):
    order = [p for p in ("fp64", "fp32", "tf32", "fp16", "fp8", "fp4") if p in device.peak]
    peaks = [device.peak[p] for p in order]
    assert peaks == sorted(peaks)
    if {"fp16", "bf16"} <= set(device.peak):
        assert device.peak["fp16"] == device.peak["bf16"]
    if "int8" in device.peak:
        assert all(device.peak["int8"] >= device.peak[p] for p in ("fp32", "fp16", "bf16") if p in device.peak)


@pytest.mark.parametrize("device", DEVICES, ids=IDS)
def test_a_separate_matrix_unit_is_faster_than_the_vector_units(device):
    if device.vector_peak:
        assert device.vector_peak < max(device.peak.values())
        if "fp32" in device.peak:
            assert device.peak["fp32"] == device.vector_peak


@pytest.mark.parametrize("device", DEVICES, ids=IDS)
def test_moving_a_byte_costs_more_the_further_it_goes(device):
    if device.joules_per_dram_byte and device.joules_per_on_chip_byte:
        assert device.joules_per_dram_byte > device.joules_per_on_chip_byte


@pytest.mark.parametrize("device", DEVICES, ids=IDS)
def test_energy_of_arithmetic(device):
    """Only for formats the device computes in, and fewer bits cost less."""
    energy = device.joules_per_flop
    assert set(energy) <= set(device.peak)
    order = [energy[p] for p in ("fp32", "fp16", "bf16", "int8") if p in energy]
    assert order == sorted(order, reverse=True)


# Horowitz, ISSCC 2014 (45 nm): MAC 4.6 pJ fp32, 0.3 pJ int8 with an int32 sum. Jouppi, ISCA 2021 (7 nm): 0.32 pJ bf16.
# O'Connor, MICRO 2017: HBM2 3.92 pJ/bit. All in references.json, B_energy.
@pytest.mark.parametrize("id, key, picojoules", [
    ("stm32h743", "joules_per_flop.fp32", 4.6 / 2),
    ("stm32h743", "joules_per_flop.int8", 0.3 / 2),
    ("tpu-v4i", "joules_per_flop.bf16", 0.32 / 2),
    ("a100-sxm-40gb", "joules_per_dram_byte", 3.92 * 8),
    ("raspberry-pi-4", "joules_per_dram_byte", 8 * 8),
    ("stm32h743", "joules_per_dram_byte", 100 / 8),
    ("tpu-v4i", "joules_per_on_chip_byte", 14 / 8),
])  # fmt: skip
def test_energy_comes_from_the_tables(id, key, picojoules):
    assert rl.device(id).facts[key].value == pytest.approx(picojoules * 1e-12)
