"""Builders of real networks. Read them to learn the architectures: each is a few blocks."""

from .alexnet_vgg import alexnet, vgg16
from .efficientnet import efficientnet_b0
from .llama import llama2_7b, llama3_8b
from .mobilenet import mobilenet_v1, mobilenet_v2
from .resnet import resnet18, resnet50
from .small import attention, bottleneck, convolution_chain, elementwise_chain, fork, vgg_start
from .super_resolution import fsrcnn
from .tiny import ds_cnn, fc_autoencoder, resnet8, visual_wake_words
from .transformers import bert_base, gpt2_small, vit_b16

__all__ = [
    "alexnet", "attention", "bert_base", "bottleneck", "convolution_chain", "ds_cnn", "efficientnet_b0",
    "elementwise_chain", "fc_autoencoder", "fork", "fsrcnn", "gpt2_small", "llama2_7b", "llama3_8b", "mobilenet_v1",
    "mobilenet_v2", "resnet18", "resnet50", "resnet8", "vgg16", "vgg_start", "visual_wake_words", "vit_b16",
]  # fmt: skip
