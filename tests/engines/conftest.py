"""Engines that are not installed are skipped, with the reason."""

import pytest

import roofline_lessons as rl
from roofline_lessons.engines import why_missing


def engine(name):
    """An engine's module, for tests that need it."""
    if reason := why_missing(name):
        pytest.skip(reason, allow_module_level=True)
    return getattr(rl.engines, name)


def of(build, shape=(4, 16)):
    """The graph of a few operators on one input."""
    b = rl.GraphBuilder("toy")
    return b.build(outputs=[build(b, b.input("x", shape))])


def image(build):
    return of(build, (1, 4, 6, 6))


def merged(merges):
    """Kinds of what was merged, e.g. ["conv+relu -> FusedConv"], from the operators' names."""
    return [f"{'+'.join(n.rsplit('_', 1)[0] for n in m.before)} -> {' '.join(m.after)}" for m in merges]
