"""Random small graphs, plans and devices for hypothesis."""

from hypothesis import strategies as st

import roofline_lessons as rl
from roofline_lessons.fusion.legality import is_tiled
from roofline_lessons.precision import BITS, NAMED

#: Precisions by name, weight-only ones among them.
PRECISIONS = st.sampled_from(list(NAMED))


def log_uniform(low, high):
    """Floats whose logarithm is spread evenly."""
    return st.floats(0, 1).map(lambda share: low * (high / low) ** share)


# -- graphs: each step adds an operator on one of the images made so far -----------------------------------------------


def _unary(draw, b, x, made):
    return getattr(b, draw(st.sampled_from(["relu", "sigmoid", "exp", "gelu", "softmax", "layer_norm"])))(x)


def _convolution(draw, b, x, made):
    kernel = draw(st.sampled_from([1, 3]))
    groups = x.shape[1] if draw(st.booleans()) else 1
    channels = groups * draw(st.integers(1, 3))
    stride = draw(st.sampled_from([1, 2]))
    return b.conv2d(x, channels, kernel, stride=stride, padding="same", groups=groups, bias=draw(st.booleans()))


def _batch_norm(draw, b, x, made):
    return b.batch_norm(x)


def _binary(draw, b, x, made):
    partner = draw(st.sampled_from([t for t in made if t.shape == x.shape]))  # x itself among them
    return getattr(b, draw(st.sampled_from(["add", "mul"])))(x, partner)


def _scale(draw, b, x, made):
    return b.mul(x, b.weight(f"scale_{len(made)}", (x.shape[1], 1, 1)))


def _concat(draw, b, x, made):
    fits = [t for t in made if t is not x and t.shape[0] == x.shape[0] and t.shape[2:] == x.shape[2:]]
    parts = [x, draw(st.sampled_from(fits))] if fits else [x]
    return b.concat(parts, in_place=draw(st.booleans()))


def _view(draw, b, x, made):
    n, c, h, w = x.shape
    return b.identity(x) if draw(st.booleans()) else b.reshape(x, (n, c, 1, h * w))


def _transpose(draw, b, x, made):
    return b.transpose(x, (0, 1, 3, 2))


def _pool(draw, b, x, made):
    return b.global_avg_pool(x) if draw(st.booleans()) else b.max_pool(x, 3, stride=1, padding=1)


def _look_up(draw, b, x, made):
    ids = b.input(f"ids_{len(made)}", (x.shape[0], x.shape[1], 2), bits=32)
    return b.embedding(ids, draw(st.sampled_from([2, 50])), 3)


def _product(draw, b, x, made):
    return b.matmul(x, x, transpose_b=True)


STEPS = [
    _unary, _convolution, _batch_norm, _binary, _scale, _concat, _view, _transpose, _pool, _look_up, _product,
]  # fmt: skip


@st.composite
def graphs(draw, max_operators=8):
    """Graphs of up to so many operators with chains, branches, joins and views; one operator at least is no view.

    Every image has four axes. What nobody reads is an output, and sometimes something that is read, too.
    """
    b = rl.GraphBuilder("random")
    made = [b.input("image", (draw(st.integers(1, 2)), draw(st.integers(1, 4)), 4, 6))]
    for i in range(draw(st.integers(1, max_operators))):
        step = _convolution if i == 0 else draw(st.sampled_from(STEPS))
        recent = made[-1] if draw(st.booleans()) else draw(st.sampled_from(made))
        made.append(step(draw, b, recent, made))
    everything = b.build(outputs=made[1:])
    unread = [t for t in made[1:] if t.name not in everything.consumers]
    read = [t for t in made[1:] if t.name in everything.consumers]
    kept = draw(st.lists(st.sampled_from(read), max_size=2, unique_by=lambda t: t.name)) if read else []
    return b.build(outputs=unread + kept)


@st.composite
def plans(draw, of=None):
    """Plans that cut the list of operators, in the order they run, into slices: so every kernel is convex.

    A slice holds one convolution, pooling or product at most: several would have to be cut into tiles.
    """
    graph = draw(graphs()) if of is None else of
    groups = [[]]
    for op in graph:
        if groups[-1] and (draw(st.booleans()) or is_tiled([*groups[-1], op])):
            groups.append([])
        groups[-1].append(op)
    return rl.Plan(graph, groups)


# -- devices -----------------------------------------------------------------------------------------------------------


@st.composite
def devices(draw):
    """Devices that run every precision; vector unit, launch cost and an on-chip memory are there or not."""
    bandwidth = draw(log_uniform(1e8, 1e13))
    levels = draw(st.lists(log_uniform(1, 20).map(lambda factor: factor * bandwidth), max_size=1))
    return rl.Device(
        "random",
        peak={name: draw(log_uniform(1e8, 1e15)) for name in BITS},
        bandwidth=bandwidth,
        vector_peak=draw(st.none() | log_uniform(1e8, 1e15)),
        launch_seconds=draw(st.none() | st.just(0.0) | log_uniform(1e-9, 1e-3)),
        levels=[rl.MemoryLevel("L1", bytes_per_second=b) for b in levels],
    )
