"""The exercises of the lessons on whole networks on devices (09) and on your own model (14), as data."""

from __future__ import annotations

from .exercise import Exercise, Misconception

NETWORKS = [
    Exercise(
        name="09-peak-bytes",
        stub="""
def peak_bytes(sizes):
    return ...
""",
        solution="""
def peak_bytes(sizes):
    return max(a + b for a, b in zip(sizes, sizes[1:]))
""",
        inputs=(
            ([100, 600, 200, 500],),
            ([490, 8000, 8000, 64, 12],),
            ([10, 20],),
            ([900, 10, 20, 10, 800, 5],),
        ),
        random=lambda rng: ([int(n) for n in rng.integers(1, 10**6, int(rng.integers(4, 9)))],),
        misconceptions=(
            Misconception(
                "def f(sizes): return max(sizes)",
                "This is the largest tensor. The kernel that makes it also needs its input at that moment.",
            ),
            Misconception(
                "def f(sizes): return sum(sizes)",
                "You keep all tensors to the end. Once its reader is done, the memory of a tensor is free again.",
            ),
            Misconception(
                "def f(sizes): return 2 * max(sizes)",
                "Twice the largest tensor: enough, but often too much. Its neighbours are smaller.",
            ),
            Misconception(
                "def f(sizes): return sum(sorted(sizes)[-2:])",
                "These are the two largest tensors. Only neighbours in the chain are needed at the same moment.",
            ),
            Misconception(
                "def f(sizes): return max(sum(sizes[i : i + 3]) for i in range(max(1, len(sizes) - 2)))",
                "You keep three neighbours. A kernel reads one tensor and writes one; the tensor before is done with.",
            ),
            Misconception(
                "def f(sizes): return sizes[0] + sizes[-1]",
                "This is what is there at the two ends. What is between has to be somewhere, too, one after the other.",
            ),
        ),
        hints=(
            "While one kernel runs, which tensors must be in memory?",
            "Kernel 0 needs sizes[0] + sizes[1], kernel 1 needs sizes[1] + sizes[2], and so on.",
            "zip(sizes, sizes[1:]) gives the pairs of neighbours; the memory must hold the largest sum.",
        ),
    ),
    Exercise(
        name="09-seconds-each",
        stub="""
def seconds_each(batch, kernels, launch_seconds, busy_seconds):
    return ...
""",
        solution="""
def seconds_each(batch, kernels, launch_seconds, busy_seconds):
    return kernels * launch_seconds / batch + busy_seconds
""",
        inputs=((1, 21, 5e-6, 1e-6), (64, 21, 5e-6, 1e-6), (8, 151, 2e-6, 3e-3), (4, 10, 1e-5, 2e-5)),
        random=lambda rng: (
            int(rng.integers(2, 65)),
            int(rng.integers(2, 200)),
            *(float(s) for s in 10 ** rng.uniform(-6, -4, 2)),
        ),
        misconceptions=(
            Misconception(
                "def f(batch, kernels, launch_seconds, busy_seconds): return kernels * launch_seconds + busy_seconds",
                "You launch every kernel anew for each input. One launch is for the whole batch.",
            ),
            Misconception(
                "def f(batch, kernels, launch_seconds, busy_seconds):\n"
                "    return (kernels * launch_seconds + busy_seconds) / batch",
                "You shared the work, too. Launches are shared, but each input of the batch has to be computed.",
            ),
            Misconception(
                "def f(batch, kernels, launch_seconds, busy_seconds):\n"
                "    return kernels * launch_seconds + batch * busy_seconds",
                "This is the time of the whole batch. Divide by the number of inputs in it.",
            ),
            Misconception(
                "def f(batch, kernels, launch_seconds, busy_seconds): return launch_seconds / batch + busy_seconds",
                "You count a single launch. There is one for every kernel.",
            ),
            Misconception(
                "def f(batch, kernels, launch_seconds, busy_seconds):\n"
                "    return max(kernels * launch_seconds / batch, busy_seconds)",
                "A launch comes before the work of its kernel, not beside it: the two add up.",
            ),
        ),
        hints=(
            "How long does the whole batch take? Launches first, then the work.",
            "The whole batch: kernels * launch_seconds + batch * busy_seconds.",
            "Each of its inputs takes a share of that: divide by batch.",
        ),
    ),
    Exercise(
        name="14-seconds-saved",
        stub="""
def seconds_saved(arithmetic, dram_bytes, tensor_bytes, bandwidth, launch):
    return ...
""",
        solution="""
def seconds_saved(arithmetic, dram_bytes, tensor_bytes, bandwidth, launch):
    apart = sum(launch + max(a, b / bandwidth) for a, b in zip(arithmetic, dram_bytes))
    left = sum(dram_bytes) - 2 * tensor_bytes
    return apart - (launch + max(sum(arithmetic), left / bandwidth))
""",
        inputs=(
            ((1e-6, 5e-8), (66600, 64000), 32000, 17.07e9, 2e-6),
            ((6.7e-6, 5e-8), (80640, 64000), 32000, 17.07e9, 2e-6),
            ((4e-6, 3e-6), (500, 500), 200, 1e9, 1e-5),
            ((1e-7, 1e-7), (90000, 70000), 30000, 1e9, 1e-6),
        ),
        random=lambda rng: (
            tuple(float(s) for s in 10 ** rng.uniform(-6, -4, 2)),
            tuple(int(n) for n in rng.integers(50_000, 200_000, 2)),
            int(rng.integers(5_000, 45_000)),
            float(10 ** rng.uniform(9, 10.5)),
            float(10 ** rng.uniform(-6, -5)),
        ),
        misconceptions=(
            Misconception(
                "def f(arithmetic, dram_bytes, tensor_bytes, bandwidth, launch):\n"
                "    apart = sum(max(a, b / bandwidth) for a, b in zip(arithmetic, dram_bytes))\n"
                "    return apart - max(sum(arithmetic), (sum(dram_bytes) - 2 * tensor_bytes) / bandwidth)",
                "You left out the launch. Two kernels are started twice, the fused one once.",
            ),
            Misconception(
                "def f(arithmetic, dram_bytes, tensor_bytes, bandwidth, launch):\n"
                "    apart = sum(launch + max(a, b / bandwidth) for a, b in zip(arithmetic, dram_bytes))\n"
                "    return apart - launch - max(sum(arithmetic), (sum(dram_bytes) - tensor_bytes) / bandwidth)",
                "You took the tensor away once. The first kernel no longer writes it, the second no longer reads it.",
            ),
            Misconception(
                "def f(arithmetic, dram_bytes, tensor_bytes, bandwidth, launch):\n"
                "    return launch + 2 * tensor_bytes / bandwidth",
                "You counted the round trip as time, always. A kernel that waits for arithmetic does not get faster by "
                "fewer bytes; and what waits for what can change. Work out both times, then subtract.",
            ),
            Misconception(
                "def f(arithmetic, dram_bytes, tensor_bytes, bandwidth, launch): return launch",
                "This is the launch alone. What do the bytes that no longer travel bring?",
            ),
            Misconception(
                "def f(arithmetic, dram_bytes, tensor_bytes, bandwidth, launch):\n"
                "    apart = sum(launch + max(a, b / bandwidth) for a, b in zip(arithmetic, dram_bytes))\n"
                "    left = sum(dram_bytes) - 2 * tensor_bytes\n"
                "    return apart - launch - max(max(arithmetic), left / bandwidth)",
                "The fused kernel does the arithmetic of both: add it up.",
            ),
            Misconception(
                "def f(arithmetic, dram_bytes, tensor_bytes, bandwidth, launch):\n"
                "    left = sum(dram_bytes) - 2 * tensor_bytes\n"
                "    return launch + max(sum(arithmetic), left / bandwidth)",
                "This is the time of the fused kernel. Asked is by how much it is shorter than that of the two.",
            ),
        ),
        hints=(
            "Three times: of the first kernel, of the second, and of both as one. What is saved is the difference.",
            "One kernel takes launch + max(arithmetic, bytes / bandwidth). The fused one is a kernel, too.",
            "The fused kernel: launch + max(sum(arithmetic), (sum(dram_bytes) - 2 * tensor_bytes) / bandwidth).",
        ),
    ),
]
