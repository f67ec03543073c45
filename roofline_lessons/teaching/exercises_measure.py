"""The exercise of the lesson on your own roofline (05), as data."""

from __future__ import annotations

from .exercise import Exercise, Misconception

_CACHES = [(5e4, 4e11), (1e6, 2e11), (3e7, 1e11)]

MEASURE = [
    Exercise(
        name="05-bandwidth-at",
        stub="""
def bandwidth_at(working_set, caches, dram):
    return ...
""",
        solution="""
def bandwidth_at(working_set, caches, dram):
    for size, bandwidth in caches:
        if working_set <= size:
            return bandwidth
    return dram
""",
        inputs=(
            (3e4, _CACHES, 4e10),
            (2e5, _CACHES, 4e10),
            (2e7, _CACHES, 4e10),
            (1e9, _CACHES, 4e10),
            (2e6, [(1e6, 5e10)], 1e10),
            (2e6, [], 1e10),
        ),
        random=lambda rng: (10 ** rng.uniform(4, 9), _CACHES, float(rng.uniform(1e10, 5e10))),
        misconceptions=(
            Misconception(
                "def f(working_set, caches, dram): return dram",
                "This is the naive roofline: always DRAM. Small working sets never go that far.",
            ),
            Misconception(
                "def f(working_set, caches, dram):\n"
                "    for size, bandwidth in caches:\n"
                "        if working_set <= size:\n"
                "            dram = bandwidth\n"
                "    return dram",
                "This goes on after the first cache that is large enough, and ends with the last, the slowest one. "
                "Return as soon as you have found one.",
            ),
            Misconception(
                "def f(working_set, caches, dram):\n"
                "    for size, bandwidth in caches:\n"
                "        if working_set >= size:\n"
                "            return bandwidth\n"
                "    return dram",
                "The wrong way round: a working set must not be larger than the cache it lives in.",
            ),
            Misconception(
                "def f(working_set, caches, dram): return max([b for _, b in caches], default=dram)",
                "This is the fastest cache, whatever its size. Does the working set fit into it?",
            ),
            Misconception(
                "def f(working_set, caches, dram):\n"
                "    for size, bandwidth in caches:\n"
                "        if working_set <= size:\n"
                "            return bandwidth\n"
                "        return dram\n"
                "    return dram",
                "The second `return` ends the loop after the first cache. Move it out of the loop.",
            ),
            Misconception(
                "def f(working_set, caches, dram):\n"
                "    for size, bandwidth in caches:\n"
                "        if working_set <= size:\n"
                "            return size\n"
                "    return dram",
                "This is the size of the cache. Asked is its bandwidth.",
            ),
        ),
        hints=(
            "Go through the caches from the nearest on, `for size, bandwidth in caches:`.",
            "The first one that is large enough holds everything: give back its bandwidth.",
            "And when none is large enough, after the loop: DRAM.",
        ),
    ),
]
