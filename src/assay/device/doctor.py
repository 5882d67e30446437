"""Looks a host over for the judge: what is there, what is not, and what that costs.

Checks only look. The one that has to try something, entering the sandbox, does so in a process
of its own.
"""

from __future__ import annotations

import contextlib
import enum
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from assay.device import device_names
from assay.device.baselines import wheel_baselines
from assay.device.runners.zygote import runner_environment
from assay.runner import landlock
from assay.runner.sandbox import LANDLOCK
from assay.runner.sandbox import NAMESPACES
from assay.runner.sandbox import PARTS
from assay.runner.sandbox import PRIVATE_FOLDERS
from assay.runner.sandbox import READ_ONLY_ROOT
from assay.runner.sandbox import SECCOMP
from assay.spec.environment import DeviceIdentity
from assay.spec.noun import Noun

_LEAST_PYTHON = (3, 11)
_TRIAL_SECONDS = 20
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_SCHEDSTAT = Path("/proc/self/schedstat")
# What the trial does is what a keeper and its runner do; the answer is one line of JSON.
_TRIAL = """
import json
from assay.runner.sandbox import try_parts
print(json.dumps(try_parts()))
"""


class Mark(enum.StrEnum):
    OK = "OK"
    MISS = "MISS"
    """Without it the cpu judge cannot work, or only at a lower label."""
    INFO = "INFO"
    """Optional, or only to be known."""


class Finding(Noun):
    """One line of the checklist."""

    name: str
    mark: Mark
    found: str
    enables: str
    next_step: str = ""
    """How to get it; empty where nothing is missing."""


def examine_device() -> tuple[Finding, ...]:
    """Interpreter, libraries, devices, sandbox and kernel features, in the order of the table."""
    return (
        _python(),
        _torch(),
        _triton(),
        _devices(),
        _cpu(),
        _cores(),
        *_cuda(),
        _baselines(),
        *_sandbox(),
        _bubblewrap(),
        _shared_memory(),
        _process_handles(),
        _waiting_time(),
        _governor(),
        _load(),
    )


# -- interpreter and libraries


def _python() -> Finding:
    enough = sys.version_info[:2] >= _LEAST_PYTHON
    return Finding(
        name="python",
        mark=Mark.OK if enough else Mark.MISS,
        found=platform.python_version(),
        enables="everything",
        next_step="" if enough else "install Python 3.11 or newer",
    )


def _torch() -> Finding:
    enables = "tensors, references, torch solutions"
    try:
        import torch
    except (ImportError, OSError) as error:
        return Finding(
            name="torch",
            mark=Mark.MISS,
            found=f"does not load: {_one_line(error)}",
            enables=enables,
            next_step="pip install torch, the build for this host",
        )
    threads = torch.get_num_threads()
    found = f"{torch.__version__}, {threads} threads here, 1 in a runner"
    return Finding(name="torch", mark=Mark.OK, found=found, enables=enables)


def _triton() -> Finding:
    enables = "Triton solutions: interpreted on the cpu, right or wrong but never timed"
    if importlib.util.find_spec("triton") is None:
        return Finding(
            name="triton",
            mark=Mark.INFO,
            found="not installed",
            enables=enables,
            next_step="pip install triton, if you want it",
        )
    version = _version("triton")
    return Finding(name="triton", mark=Mark.OK, found=version, enables=enables)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


# -- devices and cores


def _devices() -> Finding:
    return Finding(
        name="devices",
        mark=Mark.INFO,
        found=", ".join(device_names()),
        enables="the names that a device can be asked for by",
    )


def _cpu() -> Finding:
    try:
        identity = _identity()
    except (ImportError, OSError) as error:
        return Finding(
            name="cpu",
            mark=Mark.MISS,
            found=f"cannot be looked at: {_one_line(error)}",
            enables="the cpu judge",
            next_step="mend what the line says",
        )
    gigabytes = identity.memory_bytes / 2**30
    found = (
        f"{identity.name}, {os.cpu_count() or 1} cores, last-level cache "
        f"{identity.cache_bytes / 2**20:.0f} MiB, {gigabytes:.1f} GiB of memory"
    )
    return Finding(name="cpu", mark=Mark.OK, found=found, enables="the cpu judge")


def _identity() -> DeviceIdentity:
    from assay.device.cpu import CpuDevice

    return CpuDevice().identity


def _cores() -> Finding:
    count = len(os.sched_getaffinity(0))
    enables = "the referee waits on one core while a runner works on another"
    if count >= 2:
        return Finding(name="cores", mark=Mark.OK, found=f"{count} allowed", enables=enables)
    return Finding(
        name="cores",
        mark=Mark.MISS,
        found="1 allowed: referee and runner share it, so times carry the referee's waiting",
        enables=enables,
        next_step="allow two, with taskset, cpuset or docker run --cpuset-cpus",
    )


def _cuda() -> tuple[Finding, ...]:
    # Late: it needs torch, which may be what this host lacks, and the Finding of this module.
    try:
        from assay.device.cuda.doctor import examine_cuda
    except (ImportError, OSError) as error:
        found = f"cannot be looked at: {_one_line(error)}"
        return (Finding(name="cuda", mark=Mark.INFO, found=found, enables="the cuda judge"),)
    return examine_cuda()


def _baselines() -> Finding:
    """Those out of wheels, of shipped tasks and of tasks that a pack brought along."""
    ready, wanting = wheel_baselines()
    enables = "verdicts against what is in use, and not against code of our own"
    parts = [f"{reason}: {', '.join(names)}" for reason, names in wanting.items()]
    if ready:
        parts.insert(0, f"ready: {', '.join(ready)}")
    return Finding(
        name="baselines",
        mark=Mark.INFO if wanting or not ready else Mark.OK,
        found="; ".join(parts) or "none out of a wheel",
        enables=enables,
        next_step="assay task snapshot TASK, pip install what they lack, or pack again with both"
        if wanting
        else "",
    )


# -- the sandbox


def _sandbox() -> Iterator[Finding]:
    held = try_sandbox()
    for part, name, what, enables, next_step in (
        (
            NAMESPACES,
            "namespaces",
            "user, pid, net, ipc and mount",
            "a runner without network, and without sight of other processes",
            "allow user namespaces: sysctl user.max_user_namespaces, "
            "kernel.apparmor_restrict_unprivileged_userns=0, or docker run --privileged",
        ),
        (
            PRIVATE_FOLDERS,
            "private folders",
            "own /tmp, /dev/shm and /proc",
            "nothing of a runner is left behind, and it sees nobody's files there",
            "allow mounts in a user namespace: the seccomp or LSM profile of the container says no",
        ),
        (
            READ_ONLY_ROOT,
            "read-only root",
            "all but /tmp and /dev/shm",
            "a runner changes no file of the host",
            "allow mounts in a user namespace, as for private folders",
        ),
        (
            LANDLOCK,
            "landlock",
            f"ABI {landlock.abi()}",
            "a runner reads what it needs to work, and nobody's homes, ledgers or solutions",
            _landlock_step(),
        ),
        (
            SECCOMP,
            "seccomp",
            "calls that no solution needs end it",
            "a runner leaves other processes, the clock, mounts and the kernel alone",
            "a kernel with CONFIG_SECCOMP_FILTER, on x86-64 or aarch64",
        ),
    ):
        yield _held(name, part, held.get(part, False), what, enables, next_step)


def _landlock_step() -> str:
    version = landlock.abi()
    has = f"the kernel has ABI {version}" if version else "the kernel has none, or switched off"
    return (
        f"{has}: Linux 6.2 has the ABI {landlock.ENOUGH_ABI} that is needed; "
        "CONFIG_SECURITY_LANDLOCK, and landlock in the boot parameter lsm="
    )


def _held(name: str, part: str, held: bool, what: str, enables: str, next_step: str) -> Finding:
    if held:
        return Finding(name=name, mark=Mark.OK, found=what, enables=enables)
    found = f"refused: verdicts are labelled weaker isolation, no {part}"
    return Finding(name=name, mark=Mark.MISS, found=found, enables=enables, next_step=next_step)


def try_sandbox() -> dict[str, bool]:
    """What a runner would be held by, tried in a process that ends at once."""
    try:
        trial = subprocess.run(
            [sys.executable, "-c", _TRIAL],
            capture_output=True,
            text=True,
            timeout=_TRIAL_SECONDS,
            check=True,
            cwd="/",
            env=runner_environment(),
            start_new_session=True,
        )
        answer = json.loads(trial.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}
    return {part: answer.get(part) is True for part in PARTS}


def _bubblewrap() -> Finding:
    found = shutil.which("bwrap")
    return Finding(
        name="bubblewrap",
        mark=Mark.OK if found else Mark.INFO,
        found="there" if found else "not there; the judge does not need it",
        enables="another way to try a sandbox by hand",
    )


# -- what the kernel offers


def _shared_memory() -> Finding:
    works = False
    with contextlib.suppress(OSError, AttributeError):
        os.close(os.memfd_create("assay-doctor", os.MFD_CLOEXEC))
        works = True
    return _kernel("memfd", works, "nameless memory between referee and runner", "Linux 3.17")


def _process_handles() -> Finding:
    works = False
    with contextlib.suppress(OSError, AttributeError):
        os.close(os.pidfd_open(os.getpid()))
        works = True
    return _kernel("pidfd", works, "ending a runner without hitting another process", "Linux 5.3")


def _kernel(name: str, works: bool, enables: str, since: str) -> Finding:
    if works:
        return Finding(name=name, mark=Mark.OK, found="works", enables=enables)
    return Finding(
        name=name,
        mark=Mark.MISS,
        found="refused: nothing can be judged here",
        enables=enables,
        next_step=f"a kernel of {since} or newer, and a seccomp profile that allows it",
    )


def _waiting_time() -> Finding:
    """The kernel counts how long a process stood in line for its core."""
    counts = False
    with contextlib.suppress(OSError, ValueError, IndexError):
        counts = int(_SCHEDSTAT.read_text().split()[0]) > 0
    return Finding(
        name="schedstat",
        mark=Mark.OK if counts else Mark.INFO,
        found="counts" if counts else "does not count: foreign work is seen only as noise",
        enables="batches that others disturbed are dropped",
        next_step="" if counts else "a kernel with CONFIG_SCHED_INFO",
    )


def _governor() -> Finding:
    enables = "a steady clock"
    try:
        governor = _GOVERNOR.read_text().strip()
    except OSError:
        return Finding(name="governor", mark=Mark.INFO, found="not visible", enables=enables)
    steady = governor == "performance"
    return Finding(
        name="governor",
        mark=Mark.OK if steady else Mark.INFO,
        found=_one_line(governor),
        enables=enables,
        next_step="" if steady else "cpupower frequency-set -g performance, if you may",
    )


def _load() -> Finding:
    enables = "verdicts: a busy host makes them UNCLEAR"
    try:
        load = os.getloadavg()[0]
    except OSError:
        return Finding(name="load", mark=Mark.INFO, found="not visible", enables=enables)
    busy = load > len(os.sched_getaffinity(0)) / 2
    return Finding(
        name="load",
        mark=Mark.INFO if busy else Mark.OK,
        found=f"{load:.2f} over the last minute" + (": busy" if busy else ""),
        enables=enables,
        next_step="end other work, or judge later" if busy else "",
    )


def _one_line(what: object) -> str:
    return " ".join(str(what).split())[:120]
