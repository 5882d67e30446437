from __future__ import annotations

from pathlib import Path

import pytest

from assay.spec.errors import UsageError
from assay.task.snapshot.closure import Outside
from assay.task.snapshot.requirements import Needs
from assay.task.snapshot.requirements import Providers
from assay.task.snapshot.requirements import needs_of
from tests.task.snapshot.making import TARGET
from tests.task.snapshot.making import publish
from tests.task.snapshot.making import published

REQUIRES = (
    "torch==2.14.1",
    "NVIDIA_cutlass-dsl[cu13]==4.8.0",
    "cuda-bindings>=13",
    "einops; extra == 'more'",
    "av==16; platform_machine == 'aarch64'",
    "apache-tvm-ffi==0.1.11",
    "ninja",
)


def outside(module: str, needed: bool = True) -> Outside:
    return Outside(module, "tiny.a", 7, needed)


def needs(
    tmp_path: Path,
    *imports: Outside,
    installed: dict[str, frozenset[str]] | None = None,
    stated: dict[str, str] | None = None,
    extra: tuple[str, ...] = (),
) -> Needs:
    providers = Providers(installed or {}, stated or {})
    with published(tmp_path, {"tiny/a.py": ""}, requires=REQUIRES) as wheel:
        return needs_of(wheel, imports, providers, TARGET.markers, extra)


def test_ranges_are_those_of_the_wheel_and_our_own_library_is_not_named(tmp_path: Path) -> None:
    found = needs(tmp_path, outside("torch.nn"), outside("math"), outside("einops"), outside("*.x"))
    assert found == Needs(("einops", "torch==2.14.1"), ())


def test_a_module_is_found_by_its_dotted_name_by_what_is_installed_or_by_statement(
    tmp_path: Path,
) -> None:
    assert needs(tmp_path, outside("cuda.bindings.driver")).requires == ("cuda-bindings>=13",)
    here = {"tvm_ffi": frozenset({"apache-tvm-ffi", "another"}), "triton": frozenset({"triton"})}
    found = needs(tmp_path, outside("tvm_ffi"), outside("triton"), installed=here)
    assert found.requires == ("apache-tvm-ffi==0.1.11", "triton")
    stated = {"cutlass": "nvidia-cutlass-dsl"}
    assert needs(tmp_path, outside("cutlass.cute"), stated=stated).requires == (
        "NVIDIA_cutlass-dsl[cu13]==4.8.0",
    )


def test_what_a_failure_would_not_stop_is_optional_until_it_is_asked_for(tmp_path: Path) -> None:
    here = {"tvm_ffi": frozenset({"apache-tvm-ffi"})}
    imports = [outside("tvm_ffi", False), outside("flash"), outside("rare", False)]
    stated = {"flash": "flash"}
    found = needs(tmp_path, *imports, installed=here, stated=stated)
    assert found == Needs(("flash",), ("apache-tvm-ffi==0.1.11", "rare"))
    extra = ("apache_tvm_ffi", "ninja")
    found = needs(tmp_path, *imports, installed=here, stated=stated, extra=extra)
    assert found == Needs(("apache-tvm-ffi==0.1.11", "flash", "ninja"), ("rare",))


def test_a_module_that_nobody_is_known_to_bring_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        needs(tmp_path, outside("nowhere.inner"))
    assert str(caught.value) == (
        "line 7: tiny.a imports nowhere.inner, which is not installed, and no requirement of "
        "tiny 1.0 is known to bring it (state it with --provides nowhere=DISTRIBUTION)"
    )


def test_a_folder_of_wheels_tells_who_brings_what(tmp_path: Path) -> None:
    publish(tmp_path, files={"odd_module/__init__.py": ""}, name="plain")
    (tmp_path / "broken-1.0-py3-none-any.whl").write_bytes(b"no archive")
    known = Providers.known(tmp_path, {})
    assert known.of("odd_module.inner", ()) == "plain"
    assert known.of("pytest", ()) == "pytest"
    assert known.of("nowhere", ()) is None
