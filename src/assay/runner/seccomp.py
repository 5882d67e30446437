"""seccomp: which system calls a solution may make.

Calls that no solution needs end its process by SIGSYS, which the referee tells from a crash.
Calls that libraries make in good faith are refused with an error, as a system that is short of
something refuses them. Threads, fork, exec, files and memory are left alone. The filter holds for
every thread and for all that is started, and cannot be taken off.
"""

from __future__ import annotations

import ctypes
import errno
from typing import NamedTuple

from assay.runner import bpf
from assay.runner import syscalls

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERROR = 0x00050000
_REFUSE = _ERROR | errno.EPERM
_NOT_THERE = _ERROR | errno.ENOSYS

_SET_FILTER = 1
_ALL_THREADS = 1
# Without this kernels before 5.16 slow every branch of a filtered process down.
_KEEP_SPECULATION = 4

_AUDIT = {syscalls.X86_64: 0xC000003E, syscalls.AARCH64: 0xC00000B7}
_X32 = 0x40000000
_X32_NUMBERS = (512, 548)

_NEW_NAMESPACES = 0x7E020000
_AF_UNIX = 1
_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PERSONALITY_QUERY = 0xFFFFFFFF


class Rule(NamedTuple):
    """What happens to some calls, where their argument is so."""

    action: int
    calls: tuple[str, ...]
    condition: bpf.Condition | None = None


_RULES = (
    # Other processes: their memory, registers, descriptors.
    Rule(_KILL, ("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd")),
    # The kernel: its code, its probes, its counters.
    Rule(_KILL, ("bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load")),
    Rule(_KILL, ("init_module", "finit_module", "delete_module", "reboot")),
    # The file system and the namespaces that the sandbox was made of.
    Rule(_KILL, ("mount", "umount2", "pivot_root", "chroot", "mount_setattr", "open_tree")),
    Rule(_KILL, ("open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick")),
    Rule(_KILL, ("setns", "unshare", "open_by_handle_at")),
    # The clock.
    Rule(_KILL, ("clock_settime", "settimeofday", "adjtimex", "clock_adjtime")),
    # The machine.
    Rule(_KILL, ("swapon", "swapoff", "quotactl", "quotactl_fd", "acct")),
    Rule(_KILL, ("add_key", "request_key", "keyctl")),
    # Filters of its own, with which it could lie to what is loaded after it.
    Rule(_KILL, ("seccomp",)),
    Rule(_KILL, ("prctl",), bpf.equals(0, _PR_SET_SECCOMP)),
    # Outliving whoever keeps it.
    Rule(_REFUSE, ("prctl",), bpf.equals(0, _PR_SET_PDEATHSIG)),
    # Cores, turns and limits are the referee's. OpenMP and MKL ask for the first.
    Rule(_REFUSE, ("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")),
    Rule(_REFUSE, ("setpriority", "ioprio_set", "setrlimit")),
    Rule(_REFUSE, ("prlimit64",), bpf.is_not_null(2)),
    # An expired timer interrupts whoever is on the core by then, and there can be thousands.
    Rule(_REFUSE, ("timer_create", "timerfd_create")),
    Rule(_REFUSE, ("personality",), bpf.differs(0, _PERSONALITY_QUERY)),
    # Talking to others. Sockets in the file system are not held back by any namespace.
    Rule(_REFUSE, ("socket",), bpf.differs(0, _AF_UNIX)),
    Rule(_REFUSE, ("connect", "fanotify_init", "io_uring_setup")),
    # Namespaces of its own. The flags of clone3 are behind a pointer; glibc goes on to clone.
    Rule(_REFUSE, ("clone",), bpf.has_any(0, _NEW_NAMESPACES)),
    Rule(_NOT_THERE, ("clone3",)),
)


def _no_signals_but_to(process: int) -> tuple[Rule, ...]:
    """Where processes of others can be seen: signals to this one, and to nobody else."""
    return (
        Rule(_REFUSE, ("kill", "tgkill"), bpf.differs(0, process)),
        Rule(_REFUSE, ("rt_sigqueueinfo", "rt_tgsigqueueinfo"), bpf.differs(0, process)),
        # A thread or a descriptor does not say whose it is.
        Rule(_REFUSE, ("tkill", "pidfd_send_signal")),
    )


def instructions(architecture: str, only_process: int | None = None) -> list[bpf.Instruction]:
    """The filter; with a process, one that lets no signal go to any other."""
    rules = _RULES if only_process is None else (*_RULES, *_no_signals_but_to(only_process))
    made = bpf.only_architecture(_AUDIT[architecture], otherwise=_KILL)
    if architecture == syscalls.X86_64:
        made += bpf.for_numbers(_X32, None, _KILL)
        made += bpf.for_numbers(*_X32_NUMBERS, _KILL)
    for rule in rules:
        for name in rule.calls:
            number = syscalls.number(name, architecture)
            made += bpf.for_call(number, rule.action, rule.condition)
    return made + bpf.end(_ALLOW)


def install(only_process: int | None = None) -> bool:
    """Filter every thread of this process from now on; False where the kernel has no filters.

    Needs no_new_privileges.
    """
    architecture = syscalls.machine()
    if architecture is None:
        return False
    program = bpf.Program.of(instructions(architecture, only_process))
    for flags in (_ALL_THREADS | _KEEP_SPECULATION, _ALL_THREADS):
        if syscalls.call("seccomp", _SET_FILTER, flags, ctypes.byref(program)) == 0:
            return True
    return False
