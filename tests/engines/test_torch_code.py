"""PyTorch without PyTorch: the reader of generated code on what was recorded, whose operators a kernel does, errors."""

import importlib
import subprocess
import sys

import pytest

import roofline_lessons as rl
from roofline_lessons.engines import EngineError, block, catalogue, differences, recorded_compiled, torch_results
from roofline_lessons.engines.torch_code import Call, loops, passes, read
from roofline_lessons.engines.torch_kernels import Kernel, Scheduled, functions, kernels_of, operators
from tests.engines.conftest import image, of

# -- the generated code, as it was recorded by benchmarks/record_torch.py ----------------------------------------------


def test_a_chain_is_one_function_with_one_loop():
    made = read(recorded_compiled("chain").code["compiled"])
    assert made.calls == (Call("cpp_fused_mul_relu_0", False),)
    (source,) = made.functions.values()
    (loop,) = loops(source)
    assert (
        loop.startswith("for(int64_t x0")
        and loop.endswith("\n}")
        and loop.count("clamp_min") == 4
        and loop.count("store") == 1
    )
    assert passes(source) == {"in_ptr0": 1, "in_ptr1": 1, "out_ptr0": 1}


def test_add_and_layer_norm_read_their_inputs_in_three_of_four_loops():
    (kernel,) = recorded_compiled("add_layer_norm").kernels["compiled"]
    assert kernel.operators == ("add_0", "layer_norm_0") and not kernel.is_library
    assert len(kernel.loops) == 4
    assert (kernel.passes["in_ptr0"], kernel.passes["in_ptr1"]) == (3, 3)
    assert repr(kernel).endswith("add_0 + layer_norm_0; an input is read in 3 loops>")


def test_libraries_are_called_with_what_they_do_to_the_result():
    row = recorded_compiled("inverted_residual")
    assert [c.epilogue for c in read(row.code["frozen"]).calls if c.is_library] == ["hardtanh", "hardtanh", "add"]
    convolutions = [c for c in read(row.code["compiled"]).calls if c.is_library]
    assert convolutions == [Call("extern_kernels.convolution", True)] * 3


def test_calls_are_read_in_their_order_and_views_are_none():
    text = """
def call(args):
    buf0 = reinterpret_tensor(x, (4, 4), (4, 1), 0); del x  # reuse
    extern_kernels.mm(buf0, w, out=buf1)
    cpp_fused_relu_0(buf1)
    assert_size_stride(buf1, (4, 4), (4, 1), 'torch.ops.aten.mm.default')
    buf2 = torch.ops.mkldnn._linear_pointwise.default(buf1, w, None, 'relu', [None], '')
    return (buf2, )

def other(args):
    extern_kernels.mm(x, w)
"""
    assert read(text).calls == (
        Call("extern_kernels.mm", True),
        Call("cpp_fused_relu_0", False),
        Call("torch.ops.mkldnn._linear_pointwise.default", True, "relu"),
    )


def test_a_loop_may_have_no_braces():
    """Without them the next brace is another loop's, or there is none."""
    assert loops("void k()\n{\n    for(int i = 0; i < n; i++) x[i] = y[i];\n    for(b) { z; }\n}\n") == [
        "for(int i = 0; i < n; i++) x[i] = y[i];", "for(b) { z; }"
    ]  # fmt: skip
    assert passes("for(a) out_ptr0[a] = in_ptr0[a]; for(b) { out_ptr1[b] = in_ptr0[b]; }")["in_ptr0"] == 2


def test_a_broken_source_ends_somewhere():
    assert loops("for(a b") == ["for(a b"]
    assert loops("for(a) { b") == ["for(a) { b"] and loops("no loop") == [] and read("").calls == ()


# -- whose operators a kernel does -------------------------------------------------------------------------------------


def loop(*holds):
    return Scheduled("SchedulerNode", tuple(frozenset(names) for names in holds))


def library(*names):
    return Scheduled("ExternKernelSchedulerNode", (frozenset(names),))


CONV = image(lambda b, x: b.relu(b.batch_norm(b.conv2d(x, 4))))


def test_loops_around_a_library_call_only_arrange_numbers():
    found = operators(CONV, [loop({"conv_0"}), library("conv_0"), loop({"batch_norm_0", "relu_0"})])
    assert found == [(), ("conv_0",), ("batch_norm_0", "relu_0")]
    pattern = operators(CONV, [loop({"relu_0"}), library("relu_0"), loop(set())])  # only its last operator is known
    assert pattern == [(), ("conv_0", "batch_norm_0", "relu_0"), ()]


def test_what_weights_took_in_is_done_by_the_library():
    assert operators(CONV, [library("conv_0"), loop({"relu_0"})]) == [("conv_0", "batch_norm_0"), ("relu_0",)]
    scaled = image(lambda b, x: b.add(b.mul(b.conv2d(x, 4), b.weight("s", (1,))), b.weight("t", (1,))))
    assert operators(scaled, [library("conv_0")]) == [("conv_0", "mul_0", "add_0")]


def test_steps_of_an_operator_count_where_its_result_is_made():
    graph = of(lambda b, x: b.softmax(b.exp(x)))
    assert operators(graph, [loop({"exp_0"}), loop({"softmax_0"}), loop({"softmax_0"})]) == [
        ("exp_0",), (), ("softmax_0",)
    ]  # fmt: skip
    together = operators(graph, [loop({"exp_0", "softmax_0"}, {"softmax_0"})])
    assert together == [("exp_0", "softmax_0")]


def test_a_loop_with_several_results():
    graph = rl.networks.fork(16)
    found = operators(graph, [loop({"relu_0", "double"}, {"relu_0", "plus_one"})])
    assert found == [("relu_0", "double", "plus_one")]


def test_a_library_call_without_a_name_makes_what_is_read_next():
    b = rl.GraphBuilder("attention")
    q, k = b.input("q", (2, 4, 8)), b.input("k", (2, 4, 8))
    mixed = b.matmul(b.softmax(b.matmul(q, k, transpose_b=True)), k)
    graph = b.build(outputs=[b.dense(b.reshape(mixed, (8, 8)), 4)])
    assert operators(graph, [library(), library("dense_0")]) == [("matmul_0", "softmax_0", "matmul_1"), ("dense_0",)]


def test_loops_that_follow_each_other_share_a_function():
    scheduled = [loop(), loop(), library(), library(), loop()]
    code = "def call(args):\n f()\n cpp_fused_0(x)\n extern_kernels.mm(x)\n extern_kernels.bmm(x)\n cpp_fused_1(x)\n"
    names = functions(scheduled, read(code))
    assert names == ["cpp_fused_0", "cpp_fused_0", "extern_kernels.mm", "extern_kernels.bmm", "cpp_fused_1"]
    with pytest.raises(EngineError, match=r"code that torch\.compile wrote is not in the order of its kernels"):
        functions([library(), loop()], read(code))
    with pytest.raises(EngineError, match="that torch.compile wrote calls cpp_fused_1, which is none of its kernels"):
        functions(scheduled[:-1], read(code))


def test_a_function_without_its_source_is_told():
    graph, call = of(lambda b, x: b.relu(x)), "def call(args):\n cpp_fused_0(x)\n"
    with pytest.raises(EngineError, match="that torch.compile wrote has no source of cpp_fused_0 that can be read"):
        kernels_of(graph, [loop({"relu_0"})], read(call))
    source = "cpp_fused_0 = async_compile.cpp_pybinding(['a'], r'''\nfor(a) { }\n''')\n"
    (kernel,) = kernels_of(graph, [loop({"relu_0"})], read(source + call))
    assert kernel.operators == ("relu_0",) and kernel.source == "for(a) { }"


# -- recorded ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", torch_results.BLOCKS)
def test_what_was_recorded_is_marked_and_its_kernels_are_its_code(name):
    made = recorded_compiled(name)
    assert made.where.startswith("recorded 20") and made.version == "2.13.0+cpu"
    assert set(made.seconds) == set(made.noise) == {"eager", "compiled", "frozen"}
    assert 0 < made.call_seconds < min(made.seconds.values()) < 1
    for variant, kernels in made.kernels.items():
        code = read(made.code[variant])
        assert dict.fromkeys(k.name for k in kernels if not k.is_library) == dict.fromkeys(code.functions)
        assert all(bool(k.source) != k.is_library for k in kernels)
        assert {name for k in kernels for name in k.operators} == {op.name for op in block(name)}
        assert "get_args" not in code.source
    assert repr(made).startswith(f"<{name}, PyTorch 2.13.0+cpu, recorded")


@pytest.mark.parametrize("name", ["chain", "conv_bn_relu", "inverted_residual"])
def test_what_was_recorded_agrees_with_our_rules(name):
    made = recorded_compiled(name)
    assert differences(block(name), made.merges(), "elementwise") == []
    assert differences(block(name), made.merges("frozen"), "tvm") == []
    assert len(made.plan("frozen")) == len(rl.fuse(block(name), "tvm"))


def test_what_the_lesson_says_of_the_recording():
    assert recorded_compiled("chain").times_as_fast() > 3
    lost = recorded_compiled("add_layer_norm")
    assert lost.times_as_fast() < 0.8  # a fusion that loses
    assert lost.seconds["compiled"] - lost.call_seconds > 0.9 * lost.seconds["eager"]  # nothing gained without the call
    assert [len(recorded_compiled(n).plan()) for n in ("layer_norm_product", "add_layer_norm")] == [1, 1]


# -- without PyTorch ---------------------------------------------------------------------------------------------------


@pytest.fixture
def without_torch(monkeypatch):
    found = catalogue._missing
    monkeypatch.setattr(catalogue, "_missing", lambda name: ["torch"] if name == "torch" else found(name))
    monkeypatch.delitem(vars(rl.engines), "torch", raising=False)  # where it was loaded already
    torch_results._measured.forget()
    yield
    torch_results._measured.forget()


SENTENCE = r"PyTorch cannot run here: the package torch is not installed: pip install torch \(optional, and large"


def test_it_says_how_it_is_installed(without_torch):
    with pytest.raises(ImportError, match=SENTENCE):
        rl.engines.torch  # noqa: B018
    assert rl.engines.available()["torch"] is None
    module = importlib.import_module("roofline_lessons.engines.torch")  # the module itself needs nothing
    for use in (module.fusions, module.kinds, module.run, module.seconds, module.code):
        with pytest.raises(ImportError, match=SENTENCE):
            use(of(lambda b, x: b.relu(x)))


def test_the_recorded_result_is_shown(without_torch):
    made = rl.engines.compiled("chain")
    assert made.recorded and made.kernels == recorded_compiled("chain").kernels
    with pytest.raises(ValueError, match=SENTENCE + ".*and gelu was not recorded with PyTorch, only chain, add_layer"):
        rl.engines.compiled("gelu")
    with pytest.raises(ValueError, match="unknown block 'chian': did you mean 'chain'"):
        rl.engines.compiled("chian")


def test_nothing_of_it_imports_pytorch():
    code = (
        "import sys, roofline_lessons as rl, roofline_lessons.engines.torch; rl.engines.recorded_compiled('chain');"
        "rl.engines.available(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "torch" not in done.stdout.split()


def test_a_kernel_says_what_it_does():
    assert repr(Kernel("cpp_fused_0", False, (), "one loop")) == (
        "<cpp_fused_0, one loop: no operator: numbers in another order>"
    )
