"""Builders of real networks. Read them to learn the architectures: each is a few blocks."""

from .mobilenet import mobilenet_v1, mobilenet_v2

__all__ = ["mobilenet_v1", "mobilenet_v2"]
