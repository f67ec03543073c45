"""The still pictures that stand in the lessons for readers without a kernel: `make pictures` draws them.

Each picture carries a fingerprint of everything it shows and of the code that draws it. A test compares fingerprints,
because the bytes of a drawing differ a little from machine to machine.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import roofline_lessons as rl
from roofline_lessons import engine_plots, kernel_plots, measure_plots, network_plots, plots
from roofline_lessons.scenes import RooflineScene
from roofline_lessons.scenes.by_hand import ByHandScene
from roofline_lessons.scenes.engine_nodes import NodesScene
from roofline_lessons.scenes.fusion import FusionScene
from roofline_lessons.scenes.tiling import TilingScene

IMAGES = Path(__file__).parents[2] / "notebooks" / "images"

#: File name -> what it shows, and the function that draws it.
PICTURES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "explorer.svg": (lambda: RooflineScene("MobileNetV2", device="raspberry-pi-5"), plots.roofline),
    "times.svg": (lambda: depthwise_block(), plots.times),
    "rule_sets.svg": (lambda: block_under_rule_sets(), kernel_plots.kernels),
    "fusion.svg": (lambda: FusionScene(rules="depth-first", depth=5), plots.fusion),
    "tiling.svg": (lambda: TilingScene("WDWD"), plots.tiling),
    "networks.svg": (lambda: mobilenet_on_devices(), network_plots.spent),
    "machine.svg": (lambda: rl.measure.recorded(), measure_plots.bandwidths),
    "measured_chains.svg": (lambda: fused_chains(), measure_plots.speedups),
    "engines.svg": (lambda: block_in_engines(), kernel_plots.kernels),
    "engine_nodes.svg": (lambda: recorded_nodes(), engine_plots.nodes),
    "own_model.svg": (lambda: RooflineScene(rl.networks.ds_cnn(), device="raspberry-pi-5"), plots.roofline),
}


def depthwise_block() -> rl.Estimate:
    """The block of lesson 01 on its device."""
    b = rl.GraphBuilder("depthwise block")
    x = b.input("x", (1, 144, 56, 56))
    y = b.relu6(b.batch_norm(b.conv2d(x, 144, kernel=3, padding=1, groups=144, bias=False)))
    return rl.estimate(rl.unfused(b.build(outputs=[y])), rl.device("raspberry-pi-5"), precision="fp32")


def block_under_rule_sets() -> dict[str, rl.Estimate]:
    """The residual block of lesson 07 under the rule sets that it compares."""
    scene = ByHandScene("residual block")
    names = ("none", "coreml", "onnxruntime", "tflite", "tvm", "attention", "depth-first")
    plans = {n: rl.choose_tiles(rl.fuse(scene.graph, rules=n), scene.device, scene.precision) for n in names}
    return {name: rl.estimate(plan, scene.device, scene.precision) for name, plan in plans.items()}


def block_in_engines() -> dict[str, rl.Estimate]:
    """The block of MobileNetV2 as the engines of lesson 12 merged it when that was recorded."""
    made = {engine: rl.engines.recorded(engine, "inverted_residual") for engine in ("coreml", "litert", "onnxruntime")}
    plans = {"unfused": rl.unfused(rl.engines.block("inverted_residual"))} | {r.name: r.plan for r in made.values()}
    return {name: rl.estimate(plan, rl.device("raspberry-pi-5"), "fp32") for name, plan in plans.items()}


def recorded_nodes() -> NodesScene:
    """The block of MobileNetV2 in ONNX Runtime node by node, as it was recorded."""
    return NodesScene("inverted_residual", found=rl.engines.recorded_profiles("inverted_residual"))


def mobilenet_on_devices() -> dict[str, dict[str, rl.Estimate]]:
    """MobileNetV2 on the devices of lesson 09, unfused and with epilogues."""
    ids = {"STM32H743": "stm32h743", "Raspberry Pi 5": "raspberry-pi-5"}
    ids |= {"Jetson Orin Nano": "jetson-orin-nano", "H100": "h100-sxm"}
    graph = rl.networks.mobilenet_v2()
    plans = {"unfused": rl.unfused(graph), "epilogue": rl.fuse(graph, "epilogue")}
    return {name: {plan: rl.estimate(plans[plan], rl.device(id), "int8") for plan in plans} for name, id in ids.items()}


def fused_chains() -> rl.measure.Chains:
    """What lesson 06 times, as it was recorded."""
    return rl.measure.Chains(c for c in rl.measure.recorded_chains() if c.run.engine in ("numba", "numexpr"))


def fingerprint(shown: Any, plot: Callable[[Any], Any]) -> str:
    """A digest of the numbers and texts of a picture, at the digits a reader could see, and of its drawing code."""
    content: Any
    if isinstance(shown, rl.measure.Machine):
        content = [shown.name, shown.measurement.bandwidth, shown.roofs()]
    elif isinstance(shown, rl.measure.Chains):
        content = repr(shown)
    elif isinstance(shown, rl.Estimate):
        content = [k.because for k in shown.kernels]
    else:
        content = inspect.getmodule(plot).text(shown) if isinstance(shown, dict) else shown.marks
    text = json.dumps(json.loads(json.dumps(content), parse_float=lambda v: rl.number(float(v), 4)), sort_keys=True)
    return hashlib.sha256((text + drawing_code(plot)).encode()).hexdigest()[:16]


def drawing_code(plot: Callable[[Any], Any]) -> str:
    """The module that draws a picture, and those beside it that it uses."""
    own = inspect.getmodule(plot)
    named = [value for value in vars(own).values() if inspect.isroutine(value) or inspect.isclass(value)]
    used = {inspect.getmodule(value) for value in named} - {own}
    beside = [module for module in used if module and module.__name__.startswith(plots.__name__)]
    return "".join(inspect.getsource(module) for module in [own, *sorted(beside, key=lambda module: module.__name__)])


def kept_fingerprint(path: Path) -> str:
    """The fingerprint in a picture, "" where there is none."""
    found = re.search(r"fingerprint ([0-9a-f]{16})", path.read_text(encoding="utf-8")) if path.exists() else None
    return found[1] if found else ""


def draw(name: str) -> None:
    """Draw one picture into the folder of the notebooks."""
    import matplotlib

    make, plot = PICTURES[name]
    shown = make()
    settings = {"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"}
    with matplotlib.rc_context(settings):
        plot(shown).savefig(
            IMAGES / name,
            metadata={"Date": None, "Description": f"fingerprint {fingerprint(shown, plot)}"},
            facecolor="white",
        )


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name in PICTURES:
        draw(name)
        print(f"{IMAGES / name}: drawn")
