"""Builders of real networks. Read them to learn the architectures: each is a few blocks."""

from .mobilenet import mobilenet_v1, mobilenet_v2
from .small import attention, bottleneck, convolution_chain, elementwise_chain, fork, vgg_start

__all__ = [
    "attention", "bottleneck", "convolution_chain", "elementwise_chain", "fork", "mobilenet_v1", "mobilenet_v2",
    "vgg_start",
]  # fmt: skip
