"""The code that Inductor, the compiler behind `torch.compile`, writes for a processor: taken apart as text.

It is a Python module: first the generated functions, each a C++ source in quotes, then a function `call` that runs
them in turns with calls of a library (convolutions, matrix products). A generated function may hold several loops; in
each the numbers make one trip through the registers. Nothing here needs PyTorch.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

_FUNCTION = re.compile(r"^(\w+) = async_compile\.cpp\w*\(.*?r?'''\n(.*?)'''\)", re.MULTILINE | re.DOTALL)
#: A call that belongs to a kernel: of a generated function or of a library. What only says which bytes are meant
#: (reinterpret_tensor, empty_strided, assert_size_stride) is none.
_GENERATED, _LIBRARY = r"cpp_fused\w*", r"extern_kernels\.\w+|torch\.ops\.[\w.]+|aten\.[\w.]+"
_CALL = re.compile(rf"^\s*(?:\w+ = )?(?:(?P<generated>{_GENERATED})|(?P<library>{_LIBRARY}))\(", re.MULTILINE)
_EPILOGUE = re.compile(r"'(relu|hardtanh|leaky_relu|gelu|sigmoid|tanh|swish|hardswish|hardsigmoid|add)'")
_LOOP = re.compile(r"\bfor\s*\(")
_POINTER = re.compile(r"\b(?:in|in_out|out)_ptr\d+\b")


class Call(NamedTuple):
    """A call in the order they run: of a generated function, or of a library.

    epilogue : what the library is told to do with the result before it is stored, e.g. "relu".
    """

    name: str
    is_library: bool
    epilogue: str = ""


@dataclass(frozen=True)
class Generated:
    """What Inductor wrote for one model.

    source : the whole module.
    functions : name -> its C++ source.
    calls : what is called, in this order.
    """

    source: str
    functions: Mapping[str, str]
    calls: tuple[Call, ...]


def read(source: str) -> Generated:
    """Take a generated module apart.

    Parameters
    ----------
    source : str

    Examples
    --------
    >>> made = read("def call(args):\\n    buf0 = extern_kernels.convolution(x, w)\\n    cpp_fused_relu_0(buf0)\\n")
    >>> [call.name for call in made.calls]
    ['extern_kernels.convolution', 'cpp_fused_relu_0']
    """
    functions = {name: text.strip() for name, text in _FUNCTION.findall(source)}
    body = re.split(r"^\s*def call\(.*$", source, maxsplit=1, flags=re.MULTILINE)[-1]
    body = re.split(r"^\s*return \(", body, maxsplit=1, flags=re.MULTILINE)[0]
    return Generated(source, functions, tuple(_calls(body)))


def _calls(body: str) -> list[Call]:
    found = []
    for match in _CALL.finditer(body):
        end = body.find("\n", match.end())
        line = body[match.start() : end if end >= 0 else None]
        epilogue = " + ".join(_EPILOGUE.findall(line)) if match["library"] else ""
        found.append(Call(match["generated"] or match["library"], bool(match["library"]), epilogue))
    return found


def loops(function: str) -> list[str]:
    """The outermost loops of a C++ source, in their order.

    Examples
    --------
    >>> len(loops("void kernel(float* x)\\n{\\n    for(a) { for(b) { } }\\n    for(c) { }\\n}"))
    2
    """
    found: list[str] = []
    start = 0
    while match := _LOOP.search(function, start):
        end = _end_of_loop(function, match.end())
        line = function.rfind("\n", start, match.start()) + 1
        begin = match.start() if function[line : match.start()].strip() else line
        found.append(textwrap.dedent(function[begin:end]))
        start = end
    return found


def _end_of_loop(text: str, inside: int) -> int:
    """The position behind a loop, from within its parentheses on; its body may be one statement without braces."""
    body = _behind(text, inside, "()", 1)
    brace, semicolon = text.find("{", body), text.find(";", body)
    if brace >= 0 and (semicolon < 0 or brace < semicolon):
        return _behind(text, brace, "{}")
    return semicolon + 1 if semicolon >= 0 else len(text)


def _behind(text: str, start: int, pair: str, depth: int = 0) -> int:
    """The position behind the bracket that closes what is open; the end of the text where nothing does."""
    for i in range(start, len(text)):
        depth += {pair[0]: 1, pair[1]: -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return len(text)


def passes(function: str) -> dict[str, int]:
    """How many of the outermost loops of a C++ source touch each array: every one after the first is a further trip.

    Examples
    --------
    >>> passes("{ for(a) { out_ptr0[a] = in_ptr0[a]; } for(b) { out_ptr1[b] = in_ptr0[b] + out_ptr0[b]; } }")
    {'in_ptr0': 2, 'out_ptr0': 2, 'out_ptr1': 1}
    """
    found: dict[str, int] = {}
    for loop in loops(function):
        for name in set(_POINTER.findall(loop)):
            found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items()))
