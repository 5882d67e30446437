from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.device import doctor
from assay.device.cuda import doctor as cuda_doctor
from assay.device.doctor import Finding
from assay.device.doctor import Mark
from assay.device.doctor import examine_device
from assay.device.doctor import try_sandbox
from assay.runner import landlock
from assay.runner.sandbox import NAMESPACES
from assay.runner.sandbox import PARTS


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A host without a GPU on which all is well, without starting a process for it."""
    held = dict.fromkeys(PARTS, True)
    monkeypatch.setattr(cuda_doctor, "_SIGNS", ())
    monkeypatch.setattr(doctor, "try_sandbox", lambda: held)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(os, "getloadavg", lambda: (0.25, 0.0, 0.0))
    return monkeypatch


def named(name: str) -> Finding:
    return next(finding for finding in examine_device() if finding.name == name)


def refuse(*_: object, **__: object) -> Any:
    raise OSError(1, "Operation not permitted")


def file_of(name: str, text: str | None, tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    if text is not None:
        path.write_text(text)
    patch.setattr(doctor, name, path)


def test_every_check_has_a_line_and_the_names_differ(patch: pytest.MonkeyPatch) -> None:
    names = [finding.name for finding in examine_device()]
    assert len(names) == len(set(names)) == 19


def test_a_host_with_everything_misses_nothing(patch: pytest.MonkeyPatch) -> None:
    assert [f.name for f in examine_device() if f.mark is Mark.MISS] == []


def test_whatever_is_missing_comes_with_what_to_do(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(doctor, "try_sandbox", dict)
    patch.setattr(os, "sched_getaffinity", lambda pid: {0})
    patch.setattr(os, "memfd_create", refuse)
    patch.setattr(os, "pidfd_open", refuse)
    missing = [finding for finding in examine_device() if finding.mark is Mark.MISS]
    sandbox = ["namespaces", "private folders", "read-only root", "landlock", "seccomp"]
    assert [finding.name for finding in missing] == ["cores", *sandbox, "memfd", "pidfd"]
    assert all(finding.next_step for finding in missing)


@pytest.mark.parametrize(
    ("version", "mark"), [((3, 10, 4), Mark.MISS), ((3, 11, 0), Mark.OK), ((4, 0, 0), Mark.OK)]
)
def test_python(patch: pytest.MonkeyPatch, version: tuple[int, ...], mark: Mark) -> None:
    patch.setattr(doctor, "sys", type("", (), {"version_info": version}))
    assert doctor._python().mark is mark


def test_torch(patch: pytest.MonkeyPatch) -> None:
    assert named("torch").mark is Mark.OK
    assert " threads here, 1 in a runner" in named("torch").found
    real = builtins.__import__

    def broken(name: str, *arguments: Any) -> Any:
        if name == "torch":
            raise OSError("libtorch.so: cannot open\nshared object file")
        return real(name, *arguments)

    patch.setattr(builtins, "__import__", broken)
    found = doctor._torch()
    assert found.mark is Mark.MISS
    assert found.found == "does not load: libtorch.so: cannot open shared object file"


@pytest.mark.parametrize("there", [True, False])
def test_triton_is_optional(patch: pytest.MonkeyPatch, there: bool) -> None:
    patch.setattr("importlib.util.find_spec", lambda name: object() if there else None)
    patch.setattr(doctor, "_version", lambda package: "3.9.0")
    found = doctor._triton()
    assert (found.mark, found.found) == (
        (Mark.OK, "3.9.0") if there else (Mark.INFO, "not installed")
    )


def test_the_version_of_a_package_that_has_none() -> None:
    assert doctor._version("pydantic")[0].isdigit()
    assert doctor._version("no-such-package") == "of unknown version"


def test_devices_and_cpu(patch: pytest.MonkeyPatch) -> None:
    assert named("devices").found == "cpu, cuda, fake, rocm"
    assert " MiB, " in named("cpu").found
    patch.setattr(doctor, "_identity", refuse)
    assert named("cpu").mark is Mark.MISS
    assert named("cpu").found == "cannot be looked at: [Errno 1] Operation not permitted"


def test_a_host_without_a_gpu_has_one_line_about_that(patch: pytest.MonkeyPatch) -> None:
    lines = [finding for finding in examine_device() if finding.name.startswith("cuda")]
    assert [(line.mark, line.found) for line in lines] == [
        (Mark.INFO, "no NVIDIA device: the cpu device works")
    ]


def test_a_cuda_package_that_does_not_load_is_a_line_and_not_an_error(
    patch: pytest.MonkeyPatch,
) -> None:
    patch.setitem(sys.modules, "assay.device.cuda.doctor", None)
    (line,) = doctor._cuda()
    assert line.mark is Mark.INFO
    assert line.found.startswith("cannot be looked at: import of assay.device.cuda.doctor halted")


@pytest.mark.parametrize(("cores", "mark"), [({0}, Mark.MISS), ({0, 5}, Mark.OK)])
def test_cores(patch: pytest.MonkeyPatch, cores: set[int], mark: Mark) -> None:
    patch.setattr(os, "sched_getaffinity", lambda pid: cores)
    assert named("cores").mark is mark
    assert ("referee and runner share it" in named("cores").found) == (mark is Mark.MISS)


def test_half_a_sandbox_says_which_half(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(doctor, "try_sandbox", lambda: {NAMESPACES: True})
    assert named("namespaces").mark is Mark.OK
    assert named("private folders").mark is Mark.MISS
    assert named("private folders").found.endswith("weaker isolation, no private_folders")
    assert named("read-only root").found.endswith("weaker isolation, no read_only_root")


@pytest.mark.parametrize(
    ("version", "step"),
    [(0, "the kernel has none, or switched off: "), (2, "the kernel has ABI 2: Linux 6.2 ")],
)
def test_landlock_says_its_version_or_what_is_missing(
    patch: pytest.MonkeyPatch, version: int, step: str
) -> None:
    patch.setattr(landlock, "abi", lambda: 7)
    assert (named("landlock").found, named("landlock").next_step) == ("ABI 7", "")
    patch.setattr(landlock, "abi", lambda: version)
    patch.setattr(doctor, "try_sandbox", dict)
    assert named("landlock").next_step.startswith(step)


def test_the_trial_of_the_sandbox_leaves_this_process_alone() -> None:
    before = os.readlink("/proc/self/ns/user"), os.readlink("/proc/self/ns/net")
    held = try_sandbox()
    assert tuple(held) == PARTS
    assert (os.readlink("/proc/self/ns/user"), os.readlink("/proc/self/ns/net")) == before


@pytest.mark.parametrize(
    "trial",
    [
        "raise SystemExit(1)",
        "print('not json')",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    ],
)
def test_a_trial_that_fails_is_a_host_without_a_sandbox(
    monkeypatch: pytest.MonkeyPatch, trial: str
) -> None:
    monkeypatch.setattr(doctor, "_TRIAL", trial)
    assert not any(try_sandbox().values())


def test_a_host_that_cannot_start_a_process_has_no_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subprocess, "run", refuse)
    assert try_sandbox() == {}


def test_the_trial_says_what_the_kernel_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = 'print(\'{"namespaces": true, "private_folders": 1}\')'
    monkeypatch.setattr(doctor, "_TRIAL", said)
    assert try_sandbox() == {**dict.fromkeys(PARTS, False), NAMESPACES: True}


@pytest.mark.parametrize(("path", "mark"), [("/usr/bin/bwrap", Mark.OK), (None, Mark.INFO)])
def test_bubblewrap(patch: pytest.MonkeyPatch, path: str | None, mark: Mark) -> None:
    patch.setattr("shutil.which", lambda name: path)
    assert named("bubblewrap").mark is mark


@pytest.mark.parametrize(("name", "function"), [("memfd", "memfd_create"), ("pidfd", "pidfd_open")])
def test_kernel_features(patch: pytest.MonkeyPatch, name: str, function: str) -> None:
    assert named(name).mark is Mark.OK
    patch.setattr(os, function, refuse)
    assert named(name).found == "refused: nothing can be judged here"
    patch.delattr(os, function)
    assert named(name).mark is Mark.MISS


@pytest.mark.parametrize(
    ("text", "mark"),
    [("5276 347 18\n", Mark.OK), ("0 0 0\n", Mark.INFO), ("", Mark.INFO), (None, Mark.INFO)],
)
def test_schedstat(patch: pytest.MonkeyPatch, tmp_path: Path, text: str | None, mark: Mark) -> None:
    file_of("_SCHEDSTAT", text, tmp_path, patch)
    assert named("schedstat").mark is mark


@pytest.mark.parametrize(
    ("text", "mark", "found"),
    [
        ("performance\n", Mark.OK, "performance"),
        ("powersave\n", Mark.INFO, "powersave"),
        (None, Mark.INFO, "not visible"),
    ],
)
def test_governor(
    patch: pytest.MonkeyPatch, tmp_path: Path, text: str | None, mark: Mark, found: str
) -> None:
    file_of("_GOVERNOR", text, tmp_path, patch)
    assert (named("governor").mark, named("governor").found) == (mark, found)


@pytest.mark.parametrize(
    ("load", "mark", "found"),
    [
        (0.25, Mark.OK, "0.25 over the last minute"),
        (1.5, Mark.INFO, "1.50 over the last minute: busy"),
    ],
)
def test_load(patch: pytest.MonkeyPatch, load: float, mark: Mark, found: str) -> None:
    patch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    assert (named("load").mark, named("load").found) == (mark, found)
    patch.setattr(os, "getloadavg", refuse)
    assert named("load").found == "not visible"
