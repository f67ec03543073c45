"""`GraphBuilder`: write a network as a few calls; shapes, weights, names and costs follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .errors import GraphError, pair, whole
from .graph import Graph, Operator, Tensor
from .operators import make_operator

Pair = int | tuple[int, int]


def _unary(kind: str) -> Callable[..., Tensor]:
    def method(self: GraphBuilder, x: Tensor, *, name: str | None = None) -> Tensor:
        return self._add(self._name(kind, name), kind, [x])

    method.__name__, method.__doc__ = kind, f"`{kind}` of every element."
    return method


def _binary(kind: str) -> Callable[..., Tensor]:
    def method(self: GraphBuilder, x: Tensor, y: Tensor, *, name: str | None = None) -> Tensor:
        return self._add(self._name(kind, name), kind, [x, y])

    method.__name__, method.__doc__ = kind, f"`{kind}` of two tensors, element by element; shapes broadcast."
    return method


class GraphBuilder:
    """Builds a `Graph`, operator by operator. Images are (batch, channels, height, width).

    Every method that adds an operator returns its output tensor and takes ``name=`` to override the name made from
    the kind and a counter ("conv_0", "relu_3"). Weights are made on the way; pass ``weight=`` a tensor from
    `weight` to share one.

    Examples
    --------
    >>> b = GraphBuilder("block")
    >>> x = b.input("x", (1, 64, 56, 56))
    >>> y = b.relu(b.batch_norm(b.conv2d(x, 64, kernel=3, padding=1, bias=False)))
    >>> b.build(outputs=[y])
    <Graph block: 3 operators, 36,992 parameters, 115,605,504 MACs>
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._inputs: list[Tensor] = []
        self._operators: list[Operator] = []
        self._counts: dict[str, int] = {}
        self._names: set[str] = set()
        self._weights: set[str] = set()

    def build(self, outputs: Sequence[Tensor]) -> Graph:
        """The finished graph. `outputs` are the tensors to keep.

        Raises
        ------
        GraphError
            No operator or no output, or an output that this builder did not make.
        """
        return Graph(self.name, self._inputs, self._operators, outputs)

    # -- tensors -----------------------------------------------------------------------------------------------------

    def input(self, name: str, shape: Sequence[int], bits: int | None = None) -> Tensor:
        """A tensor from outside. `bits` fixes its element size (32 for indices), else the precision decides."""
        tensor = Tensor(name, shape, bits=bits)  # type: ignore[arg-type]  # Tensor makes it a tuple, or says why not
        self._inputs.append(tensor)
        return tensor

    def weight(self, name: str, shape: Sequence[int]) -> Tensor:
        """A trained constant, to be shared between operators or used as an operand."""
        if name in self._weights:
            raise GraphError(f"{name!r} is a weight already; to share it, pass the same tensor.")
        self._weights.add(name)
        return Tensor(name, tuple(shape), "weight")

    # -- multiply-accumulate -----------------------------------------------------------------------------------------

    def conv2d(
        self,
        x: Tensor,
        channels: int,
        kernel: Pair = 1,
        *,
        stride: Pair = 1,
        padding: int | tuple[int, ...] | str = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
        weight: Tensor | None = None,
        name: str | None = None,
    ) -> Tensor:
        """Convolution to `channels` output channels.

        Parameters
        ----------
        kernel, stride, dilation : int or (height, width)
        padding : int, (height, width), (top, bottom, left, right) or "same"
            "same" keeps ceil(size / stride), as TensorFlow does.
        groups : int
            Channels are split in this many groups that do not mix; `groups` = input channels is depthwise.
        """
        name = self._name("conv", name)
        channels, groups = whole(f"{name}: channels", channels), whole(f"{name}: groups", groups)
        window = self._window(name, x, kernel, stride, padding, dilation)
        _check_groups(name, x, channels, groups)
        weights = [_weight(name, weight, (channels, x.shape[1] // groups, *window["kernel"]))]
        if bias:
            weights.append(Tensor(f"{name}.bias", (channels,), "weight"))
        return self._add(name, "conv2d", [x, *weights], **window, groups=groups)

    def conv_transpose2d(
        self,
        x: Tensor,
        channels: int,
        kernel: Pair = 2,
        *,
        stride: Pair = 1,
        padding: int | tuple[int, ...] = 0,
        output_padding: Pair = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
        weight: Tensor | None = None,
        name: str | None = None,
    ) -> Tensor:
        """Transposed convolution ("deconvolution"): every input value spreads over a window of the output."""
        name = self._name("conv_transpose", name)
        channels, groups = whole(f"{name}: channels", channels), whole(f"{name}: groups", groups)
        if isinstance(padding, str):
            raise GraphError(f"{name}: padding must be whole numbers, not {padding!r}")
        window = self._window(name, x, kernel, stride, padding, dilation)
        _check_groups(name, x, channels, groups)
        weights = [_weight(name, weight, (x.shape[1], channels // groups, *window["kernel"]))]
        if bias:
            weights.append(Tensor(f"{name}.bias", (channels,), "weight"))
        extra = pair(f"{name}: output_padding", output_padding, at_least=0)
        return self._add(name, "conv_transpose2d", [x, *weights], **window, groups=groups, output_padding=extra)

    def dense(
        self, x: Tensor, features: int, *, bias: bool = True, weight: Tensor | None = None, name: str | None = None
    ) -> Tensor:
        """Product of x (..., K) with a weight (features, K): a fully connected layer."""
        name = self._name("dense", name)
        shape = (whole(f"{name}: features", features), x.shape[-1])
        weights = [_weight(name, weight, shape)]
        if bias:
            weights.append(Tensor(f"{name}.bias", shape[:1], "weight"))
        return self._add(name, "dense", [x, *weights])

    def matmul(
        self,
        x: Tensor,
        y: Tensor,
        *,
        transpose_b: bool = False,
        share: int = 1,
        triangle: str | None = None,
        name: str | None = None,
    ) -> Tensor:
        """Batched product of two activations (..., M, K) and (..., K, N), or (..., N, K) with `transpose_b`.

        Parameters
        ----------
        share : int
            So many query heads of x use one head of y (grouped-query attention).
        triangle : str, optional
            Causal attention: "output" makes only what is not above the diagonal (the scores), "input" reads only that
            of x (the scores behind their softmax). The diagonals end in the last row and column.
        """
        name = self._name("matmul", name)
        if triangle not in (None, "input", "output"):
            raise GraphError(f'{name}: triangle must be "input", "output" or None, not {triangle!r}')
        share = whole(f"{name}: share", share)
        return self._add(name, "matmul", [x, y], transpose_b=transpose_b, share=share, triangle=triangle)

    # -- element by element ------------------------------------------------------------------------------------------

    relu = _unary("relu")
    relu6 = _unary("relu6")
    leaky_relu = _unary("leaky_relu")
    elu = _unary("elu")
    sigmoid = _unary("sigmoid")
    tanh = _unary("tanh")
    silu = _unary("silu")
    gelu = _unary("gelu")
    hard_sigmoid = _unary("hard_sigmoid")
    hard_swish = _unary("hard_swish")
    exp = _unary("exp")
    sqrt = _unary("sqrt")
    rsqrt = _unary("rsqrt")
    square = _unary("square")
    erf = _unary("erf")
    neg = _unary("neg")
    clip = _unary("clip")
    add = _binary("add")
    sub = _binary("sub")
    mul = _binary("mul")
    div = _binary("div")
    pow = _binary("pow")
    maximum = _binary("maximum")
    minimum = _binary("minimum")

    def bias_add(self, x: Tensor, *, axis: int = 1, name: str | None = None) -> Tensor:
        """Add one learnt value per channel, as an operator of its own."""
        name = self._name("bias_add", name)
        return self._add(name, "bias_add", [x, self._vector(name, "bias", x, axis)], axis=axis)

    def batch_norm(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Batch normalisation at inference: trained scale and shift, and stored mean and variance, per channel."""
        name = self._name("batch_norm", name)
        trained = [self._vector(name, part, x, 1) for part in ("scale", "shift")]
        stored = [self._vector(name, part, x, 1, "buffer") for part in ("mean", "variance")]
        return self._add(name, "batch_norm", [x, *trained, *stored], axis=1)

    def prelu(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Leaky ReLU with one learnt slope per channel."""
        name = self._name("prelu", name)
        return self._add(name, "prelu", [x, self._vector(name, "slope", x, 1)], axis=1)

    # -- windows, norms, reductions ----------------------------------------------------------------------------------

    def max_pool(
        self,
        x: Tensor,
        kernel: Pair,
        *,
        stride: Pair | None = None,
        padding: int | tuple[int, ...] | str = 0,
        name: str | None = None,
    ) -> Tensor:
        """Largest value of each window; `stride` is the kernel's size unless given."""
        name, stride = self._name("max_pool", name), kernel if stride is None else stride
        return self._add(name, "max_pool", [x], **self._window(name, x, kernel, stride, padding, 1))

    def avg_pool(
        self,
        x: Tensor,
        kernel: Pair,
        *,
        stride: Pair | None = None,
        padding: int | tuple[int, ...] | str = 0,
        name: str | None = None,
    ) -> Tensor:
        """Mean of each window; `stride` is the kernel's size unless given."""
        name, stride = self._name("avg_pool", name), kernel if stride is None else stride
        return self._add(name, "avg_pool", [x], **self._window(name, x, kernel, stride, padding, 1))

    def global_avg_pool(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Mean over the whole image: an average pooling with one window, (N, C, 1, 1)."""
        name = self._name("global_avg_pool", name)
        _check_image(name, x)
        return self.avg_pool(x, (x.shape[2], x.shape[3]), name=name)

    def softmax(self, x: Tensor, *, axis: int = -1, triangle: bool = False, name: str | None = None) -> Tensor:
        """Softmax along an axis. `triangle`: of causal scores, whose part above the diagonal is hidden."""
        return self._add(self._name("softmax", name), "softmax", [x], axis=axis, triangle=triangle)

    def layer_norm(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Normalise over the last axis, then trained scale (gamma) and shift (beta)."""
        name = self._name("layer_norm", name)
        trained = [self._vector(name, part, x, -1) for part in ("gamma", "beta")]
        return self._add(name, "layer_norm", [x, *trained], axis=-1)

    def rms_norm(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Divide by the root mean square of the last axis, then a trained scale (gamma)."""
        name = self._name("rms_norm", name)
        return self._add(name, "rms_norm", [x, self._vector(name, "gamma", x, -1)], axis=-1)

    def reduce_sum(self, x: Tensor, axes: Sequence[int], *, keepdims: bool = False, name: str | None = None) -> Tensor:
        return self._reduce("reduce_sum", x, axes, keepdims, name)

    def reduce_mean(self, x: Tensor, axes: Sequence[int], *, keepdims: bool = False, name: str | None = None) -> Tensor:
        return self._reduce("reduce_mean", x, axes, keepdims, name)

    def reduce_max(self, x: Tensor, axes: Sequence[int], *, keepdims: bool = False, name: str | None = None) -> Tensor:
        return self._reduce("reduce_max", x, axes, keepdims, name)

    # -- moving data -------------------------------------------------------------------------------------------------

    def concat(
        self, parts: Sequence[Tensor], *, axis: int = 1, in_place: bool = False, name: str | None = None
    ) -> Tensor:
        """Join along an axis. `in_place`: the producers write into the result, so nothing moves here."""
        return self._add(self._name("concat", name), "concat", list(parts), axis=axis, in_place=in_place)

    def reshape(self, x: Tensor, shape: Sequence[int], *, name: str | None = None) -> Tensor:
        """A view with another shape; one dimension may be -1."""
        return self._add(self._name("reshape", name), "reshape", [x], shape=tuple(shape))

    def flatten(self, x: Tensor, *, axis: int = 1, name: str | None = None) -> Tensor:
        """A view with all axes from `axis` on merged."""
        return self._add(self._name("flatten", name), "flatten", [x], axis=axis)

    def squeeze(self, x: Tensor, axes: Sequence[int], *, name: str | None = None) -> Tensor:
        """A view without the named axes of size 1."""
        return self._add(self._name("squeeze", name), "squeeze", [x], axes=tuple(axes))

    def identity(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """The same tensor under another name (a view)."""
        return self._add(self._name("identity", name), "identity", [x])

    def dropout(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Nothing at all: dropout acts in training only (a view)."""
        return self._add(self._name("dropout", name), "dropout", [x])

    def transpose(self, x: Tensor, axes: Sequence[int], *, in_place: bool = False, name: str | None = None) -> Tensor:
        """A materialised transpose (a copy in another order). `in_place`: its readers follow the strides (a view)."""
        return self._add(self._name("transpose", name), "transpose", [x], axes=tuple(axes), in_place=in_place)

    def slice(self, x: Tensor, start: int, stop: int, *, axis: int = 0, name: str | None = None) -> Tensor:
        """A copy of the places from `start` to before `stop` along an axis; only they are read."""
        name = self._name("slice", name)
        start, stop = (whole(f"{name}: {what}", v, 0) for what, v in (("start", start), ("stop", stop)))
        return self._add(name, "slice", [x], start=start, stop=stop, axis=axis)

    def expand(self, x: Tensor, shape: Sequence[int], *, name: str | None = None) -> Tensor:
        """A copy that repeats x until it fills `shape`."""
        return self._add(self._name("expand", name), "expand", [x], shape=tuple(shape))

    def rotary(self, x: Tensor, angles: Tensor, *, name: str | None = None) -> Tensor:
        """Rotary position embedding of x (..., positions, width).

        Value j of the first half and value j of the second are a point in a plane, which turns by an angle that
        depends on the position. `angles` (positions, width) holds the cosines, then the sines.
        """
        return self._add(self._name("rotary", name), "rotary", [x, angles])

    def gather(self, table: Tensor, index: Tensor, *, name: str | None = None) -> Tensor:
        """Rows of `table` by `index`; only the rows it names are read."""
        return self._add(self._name("gather", name), "gather", [table, index])

    def embedding(self, index: Tensor, rows: int, width: int, *, name: str | None = None) -> Tensor:
        """Look-up in a trained table (rows, width): a gather, not a matrix product."""
        name = self._name("embedding", name)
        return self.gather(self.weight(f"{name}.table", (rows, width)), index, name=name)

    def upsample(self, x: Tensor, scale: int, *, mode: str = "nearest", name: str | None = None) -> Tensor:
        """Enlarge height and width by a whole factor; mode "nearest" or "bilinear"."""
        name = self._name("upsample", name)
        if mode not in ("nearest", "bilinear"):
            raise GraphError(f'{name}: mode must be "nearest" or "bilinear", not {mode!r}')
        return self._add(name, f"upsample_{mode}", [x], scale=whole(f"{name}: scale", scale))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _name(self, prefix: str, name: str | None) -> str:
        if name is not None:
            return name
        while True:
            self._counts[prefix] = self._counts.get(prefix, -1) + 1
            if (made := f"{prefix}_{self._counts[prefix]}") not in self._names:
                return made

    def _vector(self, owner: str, part: str, x: Tensor, axis: int, role: str = "weight") -> Tensor:
        if not -len(x.shape) <= axis < len(x.shape):
            raise GraphError(f"{owner}: {x.name} {x.shape} has no axis {axis}")
        return Tensor(f"{owner}.{part}", (x.shape[axis],), role)

    def _window(
        self, name: str, x: Tensor, kernel: Pair, stride: Pair, padding: int | tuple[int, ...] | str, dilation: Pair
    ) -> dict[str, tuple[int, ...]]:
        _check_image(name, x)
        k, s, d = (
            pair(f"{name}: {what}", v) for what, v in (("kernel", kernel), ("stride", stride), ("dilation", dilation))
        )
        return {"kernel": k, "stride": s, "dilation": d, "padding": _padding(name, x, k, s, d, padding)}

    def _reduce(self, kind: str, x: Tensor, axes: Sequence[int], keepdims: bool, name: str | None) -> Tensor:
        return self._add(self._name(kind, name), kind, [x], axes=tuple(axes), keepdims=keepdims)

    def _add(self, name: str, kind: str, inputs: Sequence[Tensor], **attributes: Any) -> Tensor:
        op = make_operator(name, kind, inputs, attributes, outputs=[f"{name}.out"])
        self._operators.append(op)
        self._names.add(name)
        return op.output


def _check_image(name: str, x: Tensor) -> None:
    if len(x.shape) != 4:
        raise GraphError(f"{name}: {x.name} must have the shape (batch, channels, height, width), not {x.shape}")


def _check_groups(name: str, x: Tensor, channels: int, groups: int) -> None:
    if x.shape[1] % groups:
        raise GraphError(f"{name}: {groups} groups do not divide the {x.shape[1]} input channels of {x.name}")
    if channels % groups:
        raise GraphError(f"{name}: {groups} groups do not divide the {channels} output channels")


def _weight(name: str, given: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """The given weight, which must have this shape, or a new one."""
    if given is not None and given.shape != shape:
        raise GraphError(f"{name}: weight {given.name} {given.shape} must be {shape}")
    return given or Tensor(f"{name}.weight", shape, "weight")


def _padding(
    name: str, x: Tensor, kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int], padding: Any
) -> tuple[int, int, int, int]:
    """(top, bottom, left, right) from any of the accepted forms."""
    if padding == "same":
        sides: list[int] = []
        for size, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True):
            total = max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
            sides += [total // 2, total - total // 2]  # the odd one goes behind, as TensorFlow does
        return sides[0], sides[1], sides[2], sides[3]
    if isinstance(padding, (tuple, list)) and len(padding) == 4:
        top, bottom, left, right = (whole(f"{name}: padding", p, at_least=0) for p in padding)
        return top, bottom, left, right
    if isinstance(padding, str):
        raise GraphError(f'{name}: padding must be whole numbers or "same", not {padding!r}')
    height, width = pair(f"{name}: padding", padding, at_least=0)
    return height, height, width, width
