"""The adapters of the SGLang baselines, around stand-ins of ours for its modules."""

from __future__ import annotations

import hashlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.task import load_task
from assay.task.address import SHIPPED
from assay.task.snapshot.stored import read_lock

OPS = "sglang.kernels.ops.diffusion"
NAMES = ("qknorm_rope", "norm_infer", "rotary_embedding", "group_norm_silu")


def folder(name: str) -> Path:
    return SHIPPED / "diffusion" / name / "baselines" / "sglang"


class Package:
    """Modules under SGLang's names, there for the length of a test."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def module(self, name: str, source: str) -> types.ModuleType:
        path = f"{OPS}.{name}"
        parts = path.split(".")
        for length in range(1, len(parts)):
            self._put(".".join(parts[:length]))
        made = self._put(path)
        exec(source, vars(made))
        return made

    def _put(self, name: str) -> types.ModuleType:
        if name not in sys.modules:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__path__ = []
            self.names.append(name)
        return sys.modules[name]


@pytest.fixture
def package() -> Iterator[Package]:
    made = Package()
    yield made
    for name in made.names:
        del sys.modules[name]


def adapter(name: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "solution"}
    exec((folder(name) / "adapter.py").read_text(), namespace)
    return namespace


# What upstream does, in small: a new tensor by empty_like, and beside it one for partial sums.
ONE_PASS = """
import torch
made = []
def triton_one_pass_rms_norm(x, w, eps):
    x = x.contiguous()
    y = torch.empty_like(x)
    sums = torch.empty_like(torch.empty(3))
    made.append((y.data_ptr(), sums.data_ptr()))
    return y.copy_(x * w)
"""
NORM = """
calls = []
def norm_infer(x, weight, bias, eps, is_rms_norm, out):
    calls.append((weight, bias, eps, is_rms_norm))
    return out.copy_(2 * x)
"""


def test_what_upstream_allocates_is_the_output_itself(package: Package) -> None:
    package.module("norm.norm_triton", NORM)
    upstream = package.module("norm.rmsnorm_onepass_triton", ONE_PASS)
    ours = adapter("norm_infer")
    x, w = torch.randn(4, 6).t(), torch.randn(4)
    for y in (torch.empty(6, 4), torch.empty(6, 4)):
        ours["triton_one_pass_rms_norm"](x, w, y, eps=1e-6)
        assert torch.equal(y, x * w)
        output, sums = upstream.made[-1]
        assert output == y.data_ptr() != sums
    # Nobody else's torch is another one.
    assert torch.empty_like(x).data_ptr() not in {y for y, _ in upstream.made}
    assert upstream.torch is not torch
    assert upstream.torch.Tensor is torch.Tensor


def test_what_comes_back_in_memory_of_its_own_is_copied(package: Package) -> None:
    package.module("norm.norm_triton", NORM)
    package.module(
        "norm.rmsnorm_onepass_triton",
        "def triton_one_pass_rms_norm(x, w, eps):\n    return x * w\n",
    )
    x, w, y = torch.randn(6, 4), torch.randn(4), torch.empty(6, 4)
    adapter("norm_infer")["triton_one_pass_rms_norm"](x, w, y, eps=1e-6)
    assert torch.equal(y, x * w)


def test_norm_infer_is_given_its_output(package: Package) -> None:
    upstream = package.module("norm.norm_triton", NORM)
    package.module("norm.rmsnorm_onepass_triton", ONE_PASS)
    x, y, bias = torch.randn(6, 4), torch.empty(6, 4), torch.randn(4)
    adapter("norm_infer")["norm_infer"](x, None, bias, y, eps=1e-5, is_rms_norm=True)
    assert torch.equal(y, 2 * x)
    assert upstream.calls == [(None, bias, 1e-5, True)]


ROTARY = """
import torch
seen = []
def apply_rotary_embedding(x, cos, sin, interleaved=False):
    made = torch.empty_like(x)
    seen.append((made.data_ptr(), interleaved))
    return made.copy_(x)
"""
SPLIT = """
import torch
seen = []
def apply_ltx2_split_rotary_emb(x, cos, sin):
    made = torch.empty_like(x)
    seen.append((made.data_ptr(), cos.stride(), sin.stride()))
    return made.copy_(-x)
"""


def test_rotary_entries_are_given_tables_that_they_can_read(package: Package) -> None:
    standard = package.module("rope.rotary_triton", ROTARY)
    split = package.module("rope.ltx2_rotary_triton", SPLIT)
    ours = adapter("rotary_embedding")
    x, y = torch.randn(2, 5, 3, 8), torch.empty(2, 5, 3, 8)
    table = torch.randn(5, 4)
    ours["apply_rotary_embedding"](x, table, table, y, interleaved=False)
    assert torch.equal(y, x)
    assert standard.seen == [(y.data_ptr(), False)]
    x, y = torch.randn(2, 5, 24), torch.empty(2, 5, 24)
    lying = torch.randn(2, 5, 3, 4).transpose(1, 2)
    ours["apply_ltx2_split_rotary_emb"](x, lying, lying, y)
    assert torch.equal(y, -x)
    ours["apply_ltx2_split_rotary_emb"](x, torch.randn(2, 3, 4, 5).mT, lying, y)
    # As its model lays them out they are passed on; with gaps in the last axis, as copies.
    assert split.seen == [
        (y.data_ptr(), lying.stride(), lying.stride()),
        (y.data_ptr(), (60, 20, 4, 1), (60, 20, 4, 1)),
    ]


GROUP = """
import torch
def triton_group_norm_silu(x, weight, bias, num_groups, eps=1e-5):
    x = x.contiguous()
    flat = x.reshape(x.shape[0], x.shape[1], -1, 1)
    y = torch.empty_like(flat)
    made = torch.nn.functional.group_norm(flat, num_groups, weight, bias, eps)
    return y.copy_(torch.nn.functional.silu(made)).reshape_as(x)
"""
MODULES = f"""
from {OPS}.norm.group_norm_silu_triton import triton_group_norm_silu
seen = []
def apply_group_norm_silu(x, norm, activation):
    seen.append((norm, activation))
    return triton_group_norm_silu(x, norm.weight, norm.bias, norm.num_groups, norm.eps)
"""


def test_the_modules_of_a_model_stand_over_the_same_memory(package: Package) -> None:
    package.module("norm.group_norm_silu_triton", GROUP)
    upstream = package.module("norm.group_norm_silu", MODULES)
    ours = adapter("group_norm_silu")
    x = torch.randn(2, 6, 3, 4, 5).to(memory_format=torch.channels_last_3d)
    weight, bias = torch.randn(6), torch.randn(6)
    options = {"num_groups": 3, "eps": 1e-4}
    norm = ours["prepare"]("apply_group_norm_silu", {"weight": weight, "bias": bias}, options)
    assert (norm.weight.data_ptr(), norm.bias.data_ptr()) == (weight.data_ptr(), bias.data_ptr())
    assert (norm.num_groups, norm.eps, norm.num_channels) == (3, 1e-4, 6)
    due = torch.nn.functional.silu(torch.nn.functional.group_norm(x, 3, weight, bias, 1e-4))
    for function in ("triton_group_norm_silu", "apply_group_norm_silu"):
        y = torch.empty(x.shape)
        with torch.no_grad():
            ours[function](norm, x, weight, bias, y, **options)
        torch.testing.assert_close(y, due)
    ((passed, activation),) = upstream.seen
    assert passed is norm
    assert isinstance(activation, torch.nn.SiLU)
    assert not activation.inplace


QKNORM = """
seen = []
def fused_inplace_qknorm_rope(q, k, q_weight, k_weight, cache, positions, *, is_neox, eps):
    seen.append((q.data_ptr(), k.data_ptr(), q.is_contiguous() and k.is_contiguous(), is_neox, eps))
    q.mul_(2)
    k.mul_(3)
"""


def test_queries_are_changed_in_place_however_they_lie(package: Package) -> None:
    upstream = package.module("rope.qknorm_rope_jit", QKNORM)
    ours = adapter("qknorm_rope")["fused_inplace_qknorm_rope"]
    packed = torch.ones(4, 2, 3 * 64)
    plain = torch.ones(4, 2, 64)
    rest = (torch.ones(64), torch.ones(64), torch.ones(9, 64), torch.zeros(4, dtype=torch.int64))
    ours(plain, plain.clone(), *rest, is_neox=True, eps=1e-6)
    assert upstream.seen[0][0] == plain.data_ptr()
    assert torch.equal(plain, torch.full((4, 2, 64), 2.0))
    q, k = packed[..., :64], packed[..., 64:128]
    ours(q, k, *rest, is_neox=False, eps=1e-5)
    assert upstream.seen[1][2:] == (True, False, 1e-5)
    assert packed[..., ::64].flatten().tolist() == [2.0, 3.0, 1.0] * 8


# -- the shims


def test_a_shim_is_one_text_wherever_it_is_needed() -> None:
    found: dict[str, set[str]] = {}
    for path in (path for name in NAMES for path in folder(name).rglob("shims/**/*.py")):
        inside = path.as_posix().rpartition("/shims/")[2]
        found.setdefault(inside, set()).add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert "sglang/srt/utils/common.py" in found
    assert {inside for inside, texts in found.items() if len(texts) > 1} == set()


def shim(name: str, module: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": module}
    path = folder(name) / "shims" / (module.replace(".", "/") + ".py")
    exec(path.read_text(), namespace)
    return namespace


def test_settings_have_upstreams_names_and_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = shim("qknorm_rope", "sglang.srt.environ")["envs"]
    for name in ("SGLANG_JIT_CACHE_DIR", "SGLANG_JIT_CACHE_KEEP", "SGLANG_JIT_FORCE_RECOMPILE"):
        monkeypatch.delenv(name, raising=False)
    assert envs.SGLANG_JIT_CACHE_DIR.get() is None
    assert envs.SGLANG_JIT_CACHE_KEEP.get() is None
    assert envs.SGLANG_JIT_FORCE_RECOMPILE.get() is False
    monkeypatch.setenv("SGLANG_JIT_CACHE_DIR", "/cache")
    monkeypatch.setenv("SGLANG_JIT_CACHE_KEEP", "3")
    monkeypatch.setenv("SGLANG_JIT_FORCE_RECOMPILE", "true")
    assert envs.SGLANG_JIT_CACHE_DIR.get() == "/cache"
    assert envs.SGLANG_JIT_CACHE_KEEP.get() == 3
    assert envs.SGLANG_JIT_FORCE_RECOMPILE.get() is True


def test_an_operator_is_registered_for_cuda_with_what_it_changes() -> None:
    common = shim("norm_infer", "sglang.srt.utils.common")

    def doubled(x: torch.Tensor, times: int) -> None:
        x.mul_(times)

    common["direct_register_custom_op"]("assay_doubled", doubled, ["x"], lambda x, times: None)
    schema = torch.ops.sglang.assay_doubled.default._schema
    assert str(schema) == "sglang::assay_doubled(Tensor(a0!) x, SymInt times) -> ()"
    assert torch.ops.sglang.assay_doubled(torch.ones(2, device="meta"), 2) is None
    with pytest.raises(NotImplementedError, match="CPU"):
        torch.ops.sglang.assay_doubled(torch.ones(2), 2)


def test_the_platform_is_cuda_where_torch_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = shim("norm_infer", "sglang.multimodal_gen.runtime.platforms/__init__")
    current = platform["current_platform"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert current.is_cuda()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert not current.is_cuda()
    others = ("is_hip", "is_npu", "is_mps", "is_musa", "is_xpu")
    assert not any(getattr(current, other)() for other in others)


# -- the locks

KERNELS = {
    "fused_inplace_qknorm_rope": ("*fused_qknorm_rope_*",),
    "norm_infer": ("_norm_infer_kernel",),
    "triton_one_pass_rms_norm": ("_rms_norm_tiled_onepass",),
    "apply_rotary_embedding": ("_rotary_embedding_kernel",),
    "apply_ltx2_split_rotary_emb": ("_ltx2_split_rotary_kernel",),
    "triton_group_norm_silu": ("_group_norm_*",),
    "apply_group_norm_silu": ("_group_norm_*",),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_names_an_entry_and_its_kernels_for_every_function(name: str) -> None:
    lock = read_lock(folder(name))
    assert (lock.package, lock.version) == ("sglang", "0.5.23")
    functions = load_task(f"diffusion/{name}").task.functions
    assert set(lock.entries) == {function.name for function in functions}
    for function, entry in lock.entries.items():
        module, _, attribute = entry.entry.partition(":")
        assert module.startswith(f"{OPS}.")
        assert attribute == function
        assert entry.kernels == KERNELS[function]
        assert f"{module.replace('.', '/')}.py" in {file.path for file in lock.files}
    assert {file.path.partition("/")[0] for file in lock.files} == {"sglang"}


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_holds_the_shims_that_are_there(name: str) -> None:
    lock = read_lock(folder(name))
    shims = folder(name) / "shims"
    there = {
        path.relative_to(shims).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in shims.rglob("*.py")
    }
    assert {shim.file.path: shim.file.sha256 for shim in lock.shims} == there
    assert all(len((shims / path).read_text().splitlines()) <= 50 for path in there)


def test_the_silent_eager_path_is_ruled_out_by_contract() -> None:
    lock = read_lock(folder("group_norm_silu"))
    assert lock.contract.gradients is False
    assert lock.note is not None
    assert "gradients enabled" in lock.note


def test_kernels_that_are_compiled_at_a_call_go_to_the_runners_cache() -> None:
    lock = read_lock(folder("qknorm_rope"))
    assert lock.environment["SGLANG_JIT_CACHE_DIR"] == "{cache}/sglang"
    assert {text.partition("==")[0] for text in lock.requires} >= {"apache-tvm-ffi", "ninja"}
    native = [file.path for file in lock.files if file.path.endswith((".cuh", ".h"))]
    assert "sglang/kernels/jit/csrc/diffusion/qknorm_rope.cuh" in native
