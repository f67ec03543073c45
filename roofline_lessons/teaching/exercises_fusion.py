"""The exercises of the lessons on fusing a chain (06) and on how deep to fuse (08), as data."""

from __future__ import annotations

from .exercise import Exercise, Misconception

FUSION = [
    Exercise(
        name="06-fused-bytes",
        stub="""
def fused_bytes(operators, depth, tensor_bytes):
    return ...
""",
        solution="""
def fused_bytes(operators, depth, tensor_bytes):
    kernels = -(-operators // depth)
    return kernels * 2 * tensor_bytes
""",
        inputs=((8, 1, 4 << 20), (8, 4, 4 << 20), (8, 3, 4 << 20), (9, 2, 1000), (5, 5, 1000)),
        random=lambda rng: (int(rng.integers(5, 40)), int(rng.integers(2, 5)), int(rng.integers(1, 10**7))),
        misconceptions=(
            Misconception(
                "def f(operators, depth, tensor_bytes): return -(-operators // depth) * tensor_bytes",
                "You counted one trip per kernel. Each kernel reads its input and writes its output: two trips.",
            ),
            Misconception(
                "def f(operators, depth, tensor_bytes): return (-(-operators // depth) + 1) * tensor_bytes",
                "You counted each tensor once. A tensor between two kernels travels twice: it is written by the first "
                "kernel and read by the second.",
            ),
            Misconception(
                "def f(operators, depth, tensor_bytes): return operators // depth * 2 * tensor_bytes",
                "You rounded down: where the operators do not divide evenly, a last, shorter kernel remains, and it "
                "reads and writes like the others.",
            ),
            Misconception(
                "def f(operators, depth, tensor_bytes): return operators / depth * 2 * tensor_bytes",
                "There is no part of a kernel: the last one may be shorter, but it reads and writes whole tensors. "
                "Round up.",
            ),
            Misconception(
                "def f(operators, depth, tensor_bytes): return operators * 2 * tensor_bytes",
                "This is the chain without fusion. With `depth` operators per kernel there are fewer kernels.",
            ),
            Misconception(
                "def f(operators, depth, tensor_bytes): return 2 * tensor_bytes",
                "This is the chain as one kernel. How many kernels are there when each holds `depth` operators?",
            ),
        ),
        hints=(
            "How many kernels are there? And how often does a kernel go to DRAM?",
            "Each kernel reads one tensor and writes one, however many operators it holds.",
            "Eight operators in kernels of three: 3 + 3 + 2, so three kernels. `-(-8 // 3)` rounds up.",
        ),
    ),
    Exercise(
        name="08-rows-needed",
        stub="""
def rows_needed(tile, layers):
    return ...
""",
        solution="""
def rows_needed(tile, layers):
    for kernel, stride in reversed(layers):
        tile = (tile - 1) * stride + kernel
    return tile
""",
        inputs=(
            (14, [(3, 1)]),
            (14, [(3, 1), (3, 1), (3, 1), (3, 1)]),
            (4, [(3, 1), (2, 2)]),
            (1, [(7, 2), (3, 2), (1, 1)]),
            (10, [(5, 2), (3, 1)]),
        ),
        random=lambda rng: (
            int(rng.integers(2, 20)),
            [(int(k), int(s)) for k, s in zip(rng.integers(2, 8, 3), rng.permutation([1, 2, 3]))],
        ),
        misconceptions=(
            Misconception(
                "def f(tile, layers):\n"
                "    for kernel, stride in reversed(layers):\n"
                "        tile = (tile - 1) * stride + 1 + (kernel - 1) // 2\n"
                "    return tile",
                "You added the halo on one side only. A window reaches out on both sides of a tile: 3 rows high, it "
                "needs one more above and one more below.",
            ),
            Misconception(
                "def f(tile, layers):\n"
                "    for kernel, stride in reversed(layers):\n"
                "        tile = tile + kernel - 1\n"
                "    return tile",
                "You left out the stride. With a stride of 2 the windows of neighbours lie two rows apart, so twice "
                "as many rows are needed.",
            ),
            Misconception(
                "def f(tile, layers):\n"
                "    for kernel, stride in reversed(layers):\n"
                "        tile = tile * stride + kernel - 1\n"
                "    return tile",
                "Nearly. Between the first window and the last there are tile - 1 steps, not tile.",
            ),
            Misconception(
                "def f(tile, layers):\n"
                "    for kernel, stride in layers:\n"
                "        tile = (tile - 1) * stride + kernel\n"
                "    return tile",
                "You walked forward. The tile belongs to the output of the last layer, so begin there and walk back.",
            ),
            Misconception(
                "def f(tile, layers):\n    kernel, stride = layers[-1]\n    return (tile - 1) * stride + kernel",
                "This is one step back, through the last layer. Walk on to the input of the first.",
            ),
            Misconception(
                "def f(tile, layers):\n"
                "    for kernel, stride in reversed(layers):\n"
                "        tile = (tile - 1) * stride\n"
                "    return tile + kernel",
                "Every window on the way adds its own rows, not only the first layer's.",
            ),
        ),
        hints=(
            "One layer first: for `tile` rows of output, where does the first window begin and the last one end?",
            "The last window begins (tile - 1) * stride rows after the first, and it is `kernel` rows high.",
            "What one layer needs of its input is what the layer before has to make: loop over reversed(layers).",
        ),
    ),
    Exercise(
        name="08-work-factor",
        stub="""
def work_factor(size, tile, halo):
    return ...
""",
        solution="""
def work_factor(size, tile, halo):
    seams = size // tile - 1
    rows = size + 2 * halo * seams
    return (rows / size) ** 2
""",
        inputs=((56, 14, 1), (56, 14, 3), (56, 14, 0), (56, 56, 2), (32, 8, 2)),
        random=lambda rng: (lambda tile: (tile * int(rng.integers(2, 9)), tile, int(rng.integers(1, 5))))(
            int(rng.integers(5, 20))
        ),
        misconceptions=(
            Misconception(
                "def f(size, tile, halo): return ((tile + 2 * halo) / tile) ** 2",
                "You let tiles at the border reach out of the picture. There is nothing to compute there: count only "
                "the seams between two tiles.",
            ),
            Misconception(
                "def f(size, tile, halo): return (size + 2 * halo * (size // tile - 1)) / size",
                "These are the rows. The columns overlap just the same: square it.",
            ),
            Misconception(
                "def f(size, tile, halo): return ((size + halo * (size // tile - 1)) / size) ** 2",
                "At a seam each tile reaches into the other: `halo` rows above and `halo` rows below are done twice.",
            ),
            Misconception(
                "def f(size, tile, halo): return ((tile + halo) / tile) ** 2",
                "A tile reaches out on both sides, and at the border of the picture on one: count the seams.",
            ),
            Misconception(
                "def f(size, tile, halo): return ((size + 2 * halo * (size // tile - 1)) / size) ** 2 - 1",
                "This is what is done in addition. Asked is how many times the work is done: 1 if nothing is repeated.",
            ),
        ),
        hints=(
            "How many seams lie between the tiles along one side? 56 rows in tiles of 14 make 4 tiles and 3 seams.",
            "At each seam 2 * halo rows are computed by both tiles. Compare with the rows of the table above.",
            "Rows and columns overlap alike: (all rows / size) squared.",
        ),
    ),
]
