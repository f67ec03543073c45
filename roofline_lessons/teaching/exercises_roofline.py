"""The exercises of the lessons on where the time goes (01) and on the roofline (02), as data."""

from __future__ import annotations

from .exercise import Exercise, Misconception

ROOFLINE = [
    Exercise(
        name="01-kernel-seconds",
        stub="""
def kernel_seconds(flops, dram_bytes, peak, bandwidth):
    return ...
""",
        solution="""
def kernel_seconds(flops, dram_bytes, peak, bandwidth):
    return max(flops / peak, dram_bytes / bandwidth)
""",
        inputs=((8.1e6, 3.6e6, 153.6e9, 17.07e9), (9e5, 3.6e6, 153.6e9, 17.07e9), (1e9, 1e3, 1e12, 1e11)),
        random=lambda rng: (*(10 ** rng.uniform(5, 10, 2)), *(10 ** rng.uniform(9, 13, 2))),
        misconceptions=(
            Misconception(
                "def f(flops, dram_bytes, peak, bandwidth): return flops / peak + dram_bytes / bandwidth",
                "You added the two times. A chip computes and moves data at the same time, so the slower one counts.",
            ),
            Misconception(
                "def f(flops, dram_bytes, peak, bandwidth): return flops / peak",
                "This is the time of the arithmetic alone. The bytes have to come from somewhere, too.",
            ),
            Misconception(
                "def f(flops, dram_bytes, peak, bandwidth): return dram_bytes / bandwidth",
                "This is the time of the memory traffic alone. Some kernels compute for longer than that.",
            ),
            Misconception(
                "def f(flops, dram_bytes, peak, bandwidth): return min(flops / peak, dram_bytes / bandwidth)",
                "This is the faster of the two. The kernel is done when the slower one is.",
            ),
            Misconception(
                "def f(flops, dram_bytes, peak, bandwidth): return max(peak / flops, bandwidth / dram_bytes)",
                "Upside down: FLOP divided by FLOP/s gives seconds.",
            ),
        ),
        hints=(
            "Two times: one for the arithmetic, one for the memory traffic.",
            "Work divided by the rate at which it is done: FLOP / (FLOP/s) = s, and bytes / (bytes/s) = s.",
            "Both happen at once, so the kernel is done when the slower one is: max(…, …).",
        ),
    ),
    Exercise(
        name="02-attainable",
        stub="""
def my_attainable(intensity, peak, bandwidth):
    return ...
""",
        solution="""
def my_attainable(intensity, peak, bandwidth):
    return min(peak, intensity * bandwidth)
""",
        inputs=((0.1, 153.6e9, 17.07e9), (50.0, 153.6e9, 17.07e9), (9.0, 1e12, 1e11)),
        random=lambda rng: (10 ** rng.uniform(-2, 3), *(10 ** rng.uniform(9, 13, 2))),
        misconceptions=(
            Misconception(
                "def f(intensity, peak, bandwidth): return max(peak, intensity * bandwidth)",
                "This is the higher of the two limits. A kernel has to keep below both.",
            ),
            Misconception(
                "def f(intensity, peak, bandwidth): return intensity * bandwidth",
                "This is the slanted part alone: it rises for ever. What stops it?",
            ),
            Misconception(
                "def f(intensity, peak, bandwidth): return peak",
                "This is the flat part alone. With few FLOP per byte the memory does not deliver fast enough for it.",
            ),
            Misconception(
                "def f(intensity, peak, bandwidth): return min(peak, bandwidth / intensity)",
                "Look at the units: bytes/s divided by FLOP/byte is no FLOP/s. Multiply.",
            ),
            Misconception(
                "def f(intensity, peak, bandwidth): return min(peak, bandwidth)",
                "Bytes/s and FLOP/s cannot be compared. The intensity (FLOP per byte) turns one into the other.",
            ),
        ),
        hints=(
            "Two limits: one that the arithmetic sets, one that the memory sets.",
            "The memory delivers `bandwidth` bytes per second, and each byte is good for `intensity` FLOP.",
            "The kernel keeps below both limits: min(…, …).",
        ),
    ),
]
