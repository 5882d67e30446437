"""Which places of a source are found, and what the source is without them."""

from __future__ import annotations

import pytest

from assay.judge.ablation_native import native_sites
from assay.judge.ablation_python import python_sites
from assay.judge.ablation_site import suspects
from assay.judge.ablation_text import Code


def native(text: str, *, cuda: bool = True) -> list[tuple[str, str]]:
    """Names, and what would be taken out."""
    source = text.encode()
    sites = native_sites({"k.cu": source}, 50, cuda=cuda)
    return [(site.kernel, source[site.start : site.end].decode()) for site in sites]


def python(text: str) -> list[tuple[str, str]]:
    source = text.encode()
    sites = python_sites({"k.py": source}, 50)
    return [(site.kernel, source[site.start : site.end].decode()) for site in sites]


KERNEL = "__global__ void scale(float* y) { y[0] = 1; }\n"


@pytest.mark.parametrize(
    "launch",
    [
        "scale<<<1, 2>>>(y)",
        "scale <<< dim3(1, (2 + 3) * 4), f(a, b), 0, stream >>> (y, g(1, h(2)))",
        "ops::scale<float, 2><<<1, 2>>>(y)",
        "scale<Pair<int, 3>><<<1, sizeof(int) >> 1>>>(y)",
        "this->scale<<<1, 2>>>(y)",
        'scale<<<\n  1, /* >>>( */ 2>>>(\n  y /* ) */, ")")',
    ],
)
def test_a_launch_is_taken_out_whole(launch: str) -> None:
    source = f"{KERNEL}void f(float* y) {{ if (y) {launch}; }}"
    assert [site for site in native(source) if "<<<" in site[1]] == [("scale", launch)]


def test_what_is_no_code_is_no_launch() -> None:
    source = """
    // scale<<<1, 2>>>(y);
    /* scale<<<1, 2>>>(y); */
    const char* a = "scale<<<1, 2>>>(y);";
    const char* b = R"x(scale<<<1, 2>>>(y);)x";
    int c = 1'000; char d = '\\'';
    std::cout << (1 << 2);
    """
    assert native(KERNEL + source) == []


def test_a_launch_in_a_macro_and_by_the_runtimes_own_call_are_found() -> None:
    source = (
        "#define GO(n) \\\n    scale<<<n, 2>>>(y)\n"
        "int f() { return cudaLaunchKernel((void*)scale, grid, block, args, 0, stream); }\n"
        "int g() { return cudaLaunchKernelEx(&config, other<2>, y); }\n"
    )
    assert native(KERNEL + source) == [
        ("scale", "scale<<<n, 2>>>(y)"),
        ("scale", "cudaLaunchKernel((void*)scale, grid, block, args, 0, stream)"),
        ("other", "cudaLaunchKernelEx(&config, other<2>, y)"),
    ]


def test_statements_that_call_an_own_function_which_stores_are_found() -> None:
    source = """
    static void fill(float* y, int n) { for (int i = 0; i < n; ++i) y[i] = 1; }
    template <typename T> void all(T* y) { fill(y, 3); }
    static void look(const float* x) { __builtin_prefetch(x); }
    static int set(float* y) { *y = 2; return 0; }
    extern "C" int twice(float* y, int n) {
        look(y);
        if (n) own::fill(y, n); else all<float>(y);
        const int used = set(y);
        for (;;) set(y + 1);
        return set(y);
    }
    """
    assert native(source, cuda=False) == [
        ("fill", "fill(y, 3)"),
        ("fill", "own::fill(y, n)"),
        ("all", "all<float>(y)"),
        ("set", "set(y + 1)"),
    ]


def test_without_a_kernel_all_its_launches_are_gone_and_no_other() -> None:
    text = KERNEL + "__global__ void b(float* y) {}\nvoid f() { scale<<<1, 2>>>(y); b<<<1, 2>>>(y);"
    text += " for (;;) scale<<<3, 4>>>(y); }"
    sources = {"k.cu": text.encode()}
    found = suspects(native_sites(sources, 50, cuda=True))
    assert [(one.kernel, one.where) for one in found] == [
        ("scale", "k.cu:3, k.cu:3"),
        ("b", "k.cu:3"),
    ]
    assert found[0].left_out(sources)["k.cu"].decode().splitlines()[2] == (
        "void f() { ((void)0); b<<<1, 2>>>(y); for (;;) ((void)0); }"
    )
    assert b"(__builtin_trap()); for" in found[1].trapped(sources)["k.cu"]


def test_launches_through_a_variable_are_suspects_of_their_own() -> None:
    text = "void a(K kernel) { kernel<<<1, 2>>>(y); } void b(K kernel) { kernel<<<1, 2>>>(y); }"
    found = suspects(native_sites({"k.cu": text.encode()}, 50, cuda=True))
    assert [(one.kernel, len(one.sites)) for one in found] == [("kernel", 1), ("kernel", 1)]


def test_a_call_inside_a_call_goes_with_it() -> None:
    sources = {"k.py": b"def f(y, z):\n    y[0] = 1\n\n\nf(1, [lambda: 2])\nf(k[1](f(2, 3)), 4)\n"}
    found = suspects(python_sites(sources, 50))
    assert [one.kernel for one in found] == ["f"]
    assert found[0].left_out(sources)["k.py"].endswith(b"\nNone\nNone\n")


TRITON = """
import triton
import torch

@triton.jit
def scale(y, n):
    helper(y)

def helper(y):
    y[0] = 1

def check(x, *, limit):
    if x.numel() > limit:
        raise ValueError(x)

def remember(key):
    plans[key] = 1

def wrapped(x, y):
    helper(y)

def twice(x, y, *, bias):
    check(x, limit=3); remember(4)
    scale[(1,)](y, 2)
    if bias: wrapped(x, y)
    compiled = scale[lambda meta: (meta["n"],)](
        y,  # ü
        3,
    )
    used = helper(y)
    y[0, 0] = check(x, limit=used)
    plans[0] = check(x, limit=used)
    torch.mul(x, 2, out=y)
"""


def test_triton_launches_and_calls_of_functions_that_write_are_found() -> None:
    assert python(TRITON) == [
        ("helper", "helper(y)"),
        ("scale", "scale[(1,)](y, 2)"),
        ("wrapped", "wrapped(x, y)"),
        (
            "scale",
            'scale[lambda meta: (meta["n"],)](\n        y,  # ü\n        3,\n    )',
        ),
        ("check", "y[0, 0] = check(x, limit=used)"),
    ]
    sources = {"k.py": TRITON.encode()}
    without = suspects(python_sites(sources, 50))[0].left_out(sources)["k.py"].decode()
    assert "    None\n    if bias: wrapped(x, y)\n    compiled = None\n    used" in without
    compile(without, "k.py", "exec")


@pytest.mark.parametrize("text", ["def f(:\n", "x = '\udc80'", "(" * 5000, "\0", "f" + "()" * 9000])
def test_a_source_that_python_cannot_read_has_no_sites(text: str) -> None:
    assert python_sites({"k.py": text.encode(errors="surrogateescape")}, 50) == []


@pytest.mark.parametrize(
    "text", ["a<<<" * 20000, "f(" * 50000, 'R"x(' * 20000, "f(){" * 20000, ">(" * 9]
)
def test_a_hostile_source_is_read_to_its_end(text: str) -> None:
    assert native(text) == []
    assert native(text, cuda=False) == []


def test_a_blanked_text_keeps_every_place() -> None:
    text = 'a /* b\nc */ "d\\"" // e \\\n f\n#include <g>\n#define h \\\n z\nj'
    code = Code(text, macros=True).text
    assert len(code) == len(text)
    assert [code.index(name) for name in "ahzj"] == [text.index(name) for name in "ahzj"]
    assert "g" not in code
    assert "h" not in Code(text, macros=False).text
