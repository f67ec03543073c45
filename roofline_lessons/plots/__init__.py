"""Still pictures drawn with matplotlib, for print and for readers without a kernel.

Of scenes and estimates: `roofline`, `fusion`, `tiling`, `times`. Of one graph under several plans: `kernels`; of one
network on several devices: `networks`; of what was measured on a machine: `measured`; of what engines did: `engines`.
"""

from . import engines, kernels, measured, networks
from .fusion_scene import fusion
from .kernel_times import times
from .picture import Picture
from .roofline_scene import roofline
from .roofs import measured_points
from .tiling_scene import tiling

__all__ = [
    "Picture", "engines", "fusion", "kernels", "measured", "measured_points", "networks", "roofline", "tiling", "times",
]  # fmt: skip
