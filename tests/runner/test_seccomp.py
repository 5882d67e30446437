from __future__ import annotations

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay.runner import seccomp
from assay.runner import syscalls
from assay.runner.bpf import Instruction
from assay.runner.confine import SIGNALLED
from assay.runner.sandbox import LANDLOCK
from assay.runner.sandbox import NAMESPACES
from assay.runner.sandbox import SECCOMP
from tests.runner.sandboxed import BEGINNING
from tests.runner.sandboxed import require
from tests.runner.sandboxed import said
from tests.runner.sandboxed import tried

KILLED = "killed"
ALLOWED = "allowed"
ARCHITECTURES = {syscalls.X86_64: 0xC000003E, syscalls.AARCH64: 0xC00000B7}
I386, ARM = 0x40000003, 0x40000028

ENDING = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "bpf", "perf_event_open"),
    *("userfaultfd", "kexec_load", "kexec_file_load", "init_module", "finit_module"),
    *("delete_module", "reboot", "mount", "umount2", "pivot_root", "setns", "unshare", "chroot"),
    *("clock_settime", "settimeofday", "adjtimex", "clock_adjtime", "swapon", "swapoff"),
    *("quotactl", "acct", "keyctl", "add_key", "request_key", "open_by_handle_at", "kcmp"),
    *("pidfd_getfd", "seccomp", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount"),
    *("open_tree", "mount_setattr"),
)
REFUSED = (
    *("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),
    *("setpriority", "ioprio_set", "setrlimit", "connect", "fanotify_init", "io_uring_setup"),
    *("timer_create", "timerfd_create"),
)


def outcome(
    program: list[Instruction], number: int, architecture: int, arguments: tuple[int, ...] = ()
) -> str:
    """What a kernel would do with a call, as its manual says that a filter is run."""
    words = {0: number, 4: architecture}
    for index in range(6):
        value = arguments[index] if index < len(arguments) else 0
        words[16 + 8 * index] = value & 0xFFFFFFFF
        words[20 + 8 * index] = value >> 32 & 0xFFFFFFFF
    at = accumulator = 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        if code == 0x20:
            accumulator = words[value]
        elif code == 0x06:
            break
        else:
            holds = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: accumulator & value != 0,
            }[code]
            at += if_true if holds else if_false
    if value == 0x7FFF0000:
        return ALLOWED
    return KILLED if value == 0x80000000 else errno.errorcode[value & 0xFFFF]


class Filter:
    def __init__(self, architecture: str, only_process: int | None = None) -> None:
        self._architecture = architecture
        self._program = seccomp.instructions(architecture, only_process)

    def __call__(self, name: str, *arguments: int) -> str:
        number = syscalls.number(name, self._architecture)
        return outcome(self._program, number, ARCHITECTURES[self._architecture], arguments)

    def raw(self, number: int, architecture: int | None = None) -> str:
        own = ARCHITECTURES[self._architecture]
        return outcome(self._program, number, architecture or own)


@pytest.fixture(params=list(ARCHITECTURES))
def decide(request: pytest.FixtureRequest) -> Filter:
    return Filter(request.param)


@pytest.mark.parametrize("name", ENDING)
def test_calls_that_no_solution_needs_end_it_on_both_architectures(
    decide: Filter, name: str
) -> None:
    assert decide(name) == KILLED
    assert decide(name, *[2**64 - 1] * 6) == KILLED


@pytest.mark.parametrize("name", REFUSED)
def test_calls_in_good_faith_are_refused_on_both_architectures(decide: Filter, name: str) -> None:
    assert decide(name) == "EPERM"
    assert decide(name, *[2**64 - 1] * 6) == "EPERM"


def test_some_calls_depend_on_what_they_ask_for(decide: Filter) -> None:
    af_unix, af_inet, af_inet6, af_netlink, af_packet = 1, 2, 10, 16, 17
    assert decide("socket", af_unix) == ALLOWED
    assert {decide("socket", kind) for kind in (af_inet, af_inet6, af_netlink, af_packet)} == {
        "EPERM"
    }
    # The kernel takes the family as 32 bits.
    assert decide("socket", 2**32 + af_inet) == "EPERM"
    # Limits may be asked for, not set, wherever in memory the new ones are.
    assert decide("prlimit64", 0, 7, 0, 0x7FFE12345678) == ALLOWED
    assert decide("prlimit64", 0, 7, 0x7FFE12345678, 0) == "EPERM"
    assert decide("prlimit64", 0, 7, 0x7FFE00000000, 0) == "EPERM"
    assert decide("prlimit64", 0, 7, 0x12345678, 0) == "EPERM"
    assert decide("personality", 0xFFFFFFFF) == ALLOWED
    assert decide("personality", 0x0040000) == "EPERM"
    set_pdeathsig, set_name, set_seccomp = 1, 15, 22
    assert decide("prctl", set_name) == ALLOWED
    assert decide("prctl", set_pdeathsig, 0) == "EPERM"
    assert decide("prctl", set_seccomp, 2) == KILLED


def test_threads_and_forks_are_made_and_namespaces_are_not(decide: Filter) -> None:
    thread, fork, vfork = 0x3D0F00, 0x1200011, 0x4111
    assert {decide("clone", flags) for flags in (thread, fork, vfork)} == {ALLOWED}
    spaces = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
    assert {decide("clone", fork | flag) for flag in spaces} == {"EPERM"}
    # So that glibc goes on to clone, whose flags can be seen.
    assert decide("clone3") == "ENOSYS"


def test_signals_are_left_alone_unless_others_can_be_seen(decide: Filter) -> None:
    assert {decide(name, 7, 9) for name in ("kill", "tgkill", "tkill")} == {ALLOWED}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_without_a_pid_namespace_signals_go_to_itself_alone(architecture: str) -> None:
    decide = Filter(architecture, only_process=4711)
    for name in ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"):
        assert decide(name, 4711, 4711, 6) == ALLOWED
        assert {decide(name, pid, 4711, 6) for pid in (1, 4712, 0, 2**32 - 1)} == {"EPERM"}
    assert {decide("tkill", 4711), decide("pidfd_send_signal", 3)} == {"EPERM"}


def test_calls_of_another_architecture_end_it() -> None:
    amd, arm = Filter(syscalls.X86_64), Filter(syscalls.AARCH64)
    assert amd.raw(1, I386) == arm.raw(4, ARM) == KILLED
    assert amd.raw(1, ARCHITECTURES[syscalls.AARCH64]) == KILLED
    # x32 has the architecture word of x86-64: a bit in the number, or numbers of its own.
    assert amd.raw(0x40000000 + 1) == amd.raw(512) == amd.raw(521) == amd.raw(547) == KILLED
    assert amd.raw(511) == amd.raw(548) == amd.raw(1) == arm.raw(64) == ALLOWED


def test_a_machine_that_is_neither_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syscalls, "machine", lambda: None)
    assert not seccomp.install()


# -- on this kernel. All arguments are -1, which no call that slipped through could act on.

EACH = """
endings = {}
for name, number in numbers.items():
    child = os.fork()
    if child == 0:
        result = libc.syscall(number, *[ctypes.c_long(-1)] * 6)
        os._exit(ctypes.get_errno() if result == -1 else 0)
    endings[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
for name, code in endings.items():
    say(name, code)
"""


def endings(names: tuple[str, ...], folder: Path, without: tuple[str, ...]) -> dict[str, int]:
    machine = syscalls.machine()
    assert machine is not None
    numbers = {name: syscalls.number(name, machine) for name in names}
    lines = said(f"numbers = {numbers!r}\n{EACH}", folder, without)
    return {name: int(code) for name, code in (line.split() for line in lines)}


def test_the_kernel_ends_whoever_makes_such_a_call(tmp_path: Path) -> None:
    require(SECCOMP)
    found = endings(ENDING, tmp_path, without=())
    assert found == dict.fromkeys(ENDING, -signal.SIGSYS)
    # With the part off each of them goes to the kernel, which knows nothing to do for -1.
    assert -signal.SIGSYS not in endings(ENDING, tmp_path, without=(SECCOMP,)).values()


def test_the_kernel_refuses_what_is_asked_in_good_faith(tmp_path: Path) -> None:
    require(SECCOMP)
    assert endings(REFUSED, tmp_path, without=()) == dict.fromkeys(REFUSED, errno.EPERM)


AFFINITY = "attempt(lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))"
LIMIT = (
    "import resource\n"
    "attempt(lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))\n"
    "say(resource.getrlimit(resource.RLIMIT_CORE))"
)


def test_affinity_and_limits_are_not_for_a_solution_to_set(tmp_path: Path) -> None:
    require(SECCOMP)
    assert said(AFFINITY, tmp_path) == ["PermissionError 1"]
    assert said(AFFINITY, tmp_path, without=(SECCOMP,)) == ["None"]
    # Python has no errno for a limit that may not be set; asking for one works.
    assert tried(LIMIT, tmp_path).errors.splitlines()[-1].startswith("ValueError")
    assert said(LIMIT, tmp_path, without=(SECCOMP,)) == ["None", "(0, 0)"]


TIMER = "say(libc.timerfd_create(1, 0) >= 0, ctypes.get_errno())"


def test_timers_that_would_interrupt_a_rival_are_not_made(tmp_path: Path) -> None:
    require(SECCOMP)
    assert said(TIMER, tmp_path) == ["False 1"]
    assert said(TIMER, tmp_path, without=(SECCOMP,)) == ["True 0"]


def test_the_end_of_the_first_process_is_told_from_a_crash(tmp_path: Path) -> None:
    require(SECCOMP)
    code = "say(libc.ptrace(0, 0, 0, 0))"
    assert tried(code, tmp_path).status == SIGNALLED + signal.SIGSYS
    assert said(code, tmp_path, without=(SECCOMP,)) == ["0"]


def test_a_thread_that_was_there_before_is_filtered_too() -> None:
    require(SECCOMP)
    code = (
        "import threading\n"
        "from assay.runner import isolate, seccomp\n"
        "ready = threading.Event()\n"
        "late = threading.Thread(target=lambda: (ready.wait(), say(libc.ptrace(0, 0, 0, 0))))\n"
        "late.start()\n"
        "isolate.no_new_privileges()\n"
        "say(seccomp.install())\n"
        "ready.set()\n"
        "late.join()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", BEGINNING + code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (-signal.SIGSYS, "True\n")


SIGNAL = "attempt(lambda: os.kill(os.getppid(), 0))\nattempt(lambda: os.kill(os.getpid(), 0))"


def test_without_namespaces_a_solution_signals_nobody(tmp_path: Path) -> None:
    require(SECCOMP)
    # landlock's scope would refuse the same.
    off = (NAMESPACES, LANDLOCK)
    assert said(SIGNAL, tmp_path, without=off) == ["PermissionError 1", "None"]
    assert said(SIGNAL, tmp_path, without=(*off, SECCOMP)) == ["None", "None"]
