from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from assay.device.cuda import doctor
from assay.device.cuda import toolkit
from assay.device.cuda.doctor import examine_cuda
from assay.device.cuda.toolkit import find_tool
from assay.device.doctor import Finding
from assay.device.doctor import Mark
from tests.device.cuda.fakes import FakeNvml
from tests.device.cuda.fakes import give_nvml
from tests.device.cuda.fakes import give_torch
from tests.device.cuda.fakes import h200

TOOLS = ["nvcc", "ncu", "compute-sanitizer", "nsys"]

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")


@pytest.fixture
def host(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A host with a driver, one idle H200 and every tool."""
    (tmp_path / "sign").touch()
    (tmp_path / "params").write_text("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n")
    tools = tmp_path / "toolkit" / "bin"
    tools.mkdir(parents=True)
    for name in TOOLS:
        make_tool(tools / name, "Copyright (c) 2018-2025\nVersion 2025.3.1.0 (build 3)")
    make_tool(tools / "nvcc", "Cuda compilation tools, release 13.0, V13.0.88")
    monkeypatch.setattr(doctor, "_SIGNS", (tmp_path / "sign",))
    monkeypatch.setattr(doctor, "_PARAMETERS", tmp_path / "params")
    monkeypatch.setattr(toolkit, "USUAL_TOOLKIT", tmp_path / "nowhere")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return monkeypatch


def make_tool(path: Path, says: str) -> None:
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
    path.chmod(0o755)


def named(name: str) -> Finding:
    return next(finding for finding in examine_cuda() if finding.name == name)


def marks() -> dict[str, Mark]:
    return {finding.name: finding.mark for finding in examine_cuda()}


def test_a_host_without_a_driver_has_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "_SIGNS", (tmp_path / "none",))
    (only,) = examine_cuda()
    assert (only.mark, only.found) == (Mark.INFO, "no NVIDIA device: the cpu device works")
    assert only.next_step == ""


def test_a_host_with_everything(host: pytest.MonkeyPatch) -> None:
    found = marks()
    assert list(found) == [
        "nvidia driver",
        "torch cuda",
        "cuda:0",
        "cuda:0 use",
        "cuda:0 health",
        "nvml",
        *TOOLS,
        "ncu counters",
    ]
    assert set(found.values()) == {Mark.OK}
    assert not any(finding.next_step for finding in examine_cuda())


def test_what_is_said_of_an_h200(host: pytest.MonkeyPatch) -> None:
    assert named("nvidia driver").found == "580.159.04"
    assert named("torch cuda").found == "torch 2.11.0+cu130, CUDA 13.0"
    assert named("cuda:0").found == (
        "NVIDIA H200, 139.8 GiB of memory, L2 60 MiB, 132 multiprocessors, sm_90a"
    )
    assert named("cuda:0 use").found == "idle"
    assert named("cuda:0 health").found == (
        "0 uncorrected memory errors since the driver started, 0 ever"
    )


def test_nothing_that_an_nvidia_host_lacks_makes_the_cpu_judge_unfit(
    host: pytest.MonkeyPatch, nvml: FakeNvml, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "toolkit")
    give_nvml(host, None)
    give_torch(host, cuda=None)
    host.setattr(os, "geteuid", lambda: 1000)
    found = marks()
    assert Mark.MISS not in found.values()
    lacking = {name for name, mark in found.items() if mark is Mark.INFO}
    assert lacking == {"torch cuda", "cuda", "nvml", *TOOLS, "ncu counters"}
    assert all(named(name).next_step for name in lacking)


# -- devices


def test_a_driver_that_torch_was_not_built_for(host: pytest.MonkeyPatch) -> None:
    give_torch(host, cuda=None)
    assert named("torch cuda").found == "torch 2.11.0+cu130 is not built for cuda"
    assert named("cuda").mark is Mark.INFO


def test_every_device_has_its_lines_and_one_that_fails_does_not_hide_the_next(
    host: pytest.MonkeyPatch,
) -> None:
    devices = [h200(), h200(name="NVIDIA\x1b[31m")]

    def properties(index: int) -> SimpleNamespace:
        if index == 0:
            raise RuntimeError("CUDA error: out of memory")
        return devices[index]

    give_torch(host, *devices)
    host.setattr(torch.cuda, "get_device_properties", properties)
    assert named("cuda:0").found == "cuda device 0 cannot be opened: CUDA error: out of memory"
    assert named("cuda:1").found.startswith("NVIDIA\\x1b[31m, 139.8 GiB")


@pytest.mark.parametrize(
    ("processes", "percent", "reasons", "found"),
    [
        ((7,), 0, 0, "1 compute process of others"),
        ((7, 8), 87, 0, "2 compute processes of others, 87 % busy"),
        ((), 3, 0x5, "3 % busy"),
        ((), 0, 0x44, "hardware thermal slowdown"),
    ],
)
def test_a_device_in_use(
    host: pytest.MonkeyPatch,
    nvml: FakeNvml,
    processes: tuple[int, ...],
    percent: int,
    reasons: int,
    found: str,
) -> None:
    nvml.answers["ComputeRunningProcesses"] = processes
    nvml.answers["UtilizationRates"] = SimpleNamespace(gpu=percent)
    nvml.answers["CurrentClocksEventReasons"] = reasons
    assert (named("cuda:0 use").mark, named("cuda:0 use").found) == (Mark.INFO, found)
    assert named("cuda:0 use").next_step


def test_this_very_process_and_a_device_that_counts_nothing_are_idle(
    host: pytest.MonkeyPatch, nvml: FakeNvml
) -> None:
    nvml.answers["ComputeRunningProcesses"] = (os.getpid(),)
    nvml.answers["UtilizationRates"] = None
    assert named("cuda:0 use").found == "idle"


@pytest.mark.parametrize(
    ("recent", "ever", "mark", "found"),
    [
        (0, 3, Mark.OK, "0 uncorrected memory errors since the driver started, 3 ever"),
        (2, 5, Mark.INFO, "2 uncorrected memory errors since the driver started, 5 ever"),
        (None, None, Mark.INFO, "its memory does not count errors"),
    ],
)
def test_health(
    host: pytest.MonkeyPatch,
    nvml: FakeNvml,
    recent: int | None,
    ever: int | None,
    mark: Mark,
    found: str,
) -> None:
    nvml.answers["TotalEccErrors"] = {(1, 0): recent, (1, 1): ever}
    assert (named("cuda:0 health").mark, named("cuda:0 health").found) == (mark, found)
    assert bool(named("cuda:0 health").next_step) == bool(recent)


def test_without_nvml_use_and_health_are_not_claimed(host: pytest.MonkeyPatch) -> None:
    give_nvml(host, None)
    assert "cuda:0 use" not in marks()
    assert "cuda:0 health" not in marks()
    assert named("nvml").next_step == "install nvidia-ml-py"


# -- tools


def test_tools_say_their_release_and_their_place(host: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert named("nvcc").found == f"13.0, {tmp_path}/toolkit/bin/nvcc"
    assert named("ncu").found == f"2025.3.1.0, {tmp_path}/toolkit/bin/ncu"


def test_a_tool_on_the_path_comes_before_the_toolkits(
    host: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    make_tool(tmp_path / "mine" / "ncu", "no number here")
    host.setenv("PATH", f"{tmp_path}/mine:/usr/bin:/bin")
    assert find_tool("ncu") == f"{tmp_path}/mine/ncu"
    assert named("ncu").found == f"of unknown version, {tmp_path}/mine/ncu"


def test_a_tool_in_the_usual_folder_is_found(host: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host.delenv("CUDA_HOME")
    assert find_tool("nvcc") is None
    host.setattr(toolkit, "USUAL_TOOLKIT", tmp_path / "toolkit")
    assert find_tool("nvcc") == f"{tmp_path}/toolkit/bin/nvcc"


def test_a_tool_that_does_not_start(host: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "toolkit/bin/ncu").write_text("#!/bin/sh\nexit 1\n")
    assert named("ncu").mark is Mark.INFO
    assert named("ncu").found.endswith("/ncu does not start")


@pytest.mark.parametrize(
    ("text", "user", "mark", "found"),
    [
        ("RmProfilingAdminOnly: 0\n", 1000, Mark.OK, "allowed"),
        ("RmProfilingAdminOnly: 1\n", 0, Mark.OK, "allowed"),
        (
            "A: 1\nRmProfilingAdminOnly: 1\n",
            1000,
            Mark.INFO,
            "only for administrators (RmProfilingAdminOnly: 1)",
        ),
        (None, 1000, Mark.INFO, "not visible: ncu will say ERR_NVGPUCTRPERM if refused"),
    ],
)
def test_who_may_read_the_counters(
    host: pytest.MonkeyPatch,
    tmp_path: Path,
    text: str | None,
    user: int,
    mark: Mark,
    found: str,
) -> None:
    host.setattr(os, "geteuid", lambda: user)
    if text is None:
        (tmp_path / "params").unlink()
    else:
        (tmp_path / "params").write_text(text)
    assert (named("ncu counters").mark, named("ncu counters").found) == (mark, found)
    assert ("as root" in named("ncu counters").next_step) == ("only for" in found)


# -- the real thing


@gpu
@pytest.mark.gpu
def test_a_real_host_has_a_driver_and_a_device() -> None:
    found = marks()
    assert found["nvidia driver"] is found["torch cuda"] is found["cuda:0"] is Mark.OK
    assert Mark.MISS not in found.values()
