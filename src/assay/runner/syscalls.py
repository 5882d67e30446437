"""Numbers of the system calls that the sandbox makes or names, and the way to make one.

libc has no function for some of them, and a filter knows calls by their numbers only.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

X86_64 = "x86_64"
AARCH64 = "aarch64"

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

# By name: the number on x86-64, and on aarch64.
_OLD: dict[str, tuple[int, int]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "connect": (42, 203),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "init_module": (175, 105),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "kill": (62, 129),
    "mount": (165, 40),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "seccomp": (317, 277),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "setrlimit": (160, 164),
    "settimeofday": (164, 170),
    "socket": (41, 198),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "tgkill": (234, 131),
    "timer_create": (222, 107),
    "timerfd_create": (283, 85),
    "tkill": (200, 130),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
# Since Linux 5.1 a new call has one number everywhere.
_NEW: dict[str, int] = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
    "open_tree_attr": 467,
}


def machine() -> str | None:
    """The architecture whose numbers this process uses, if it is one of the two known here."""
    name = os.uname().machine
    return name if name in {X86_64, AARCH64} and sys.maxsize > 2**32 else None


def number(name: str, architecture: str) -> int:
    if name in _NEW:
        return _NEW[name]
    return _OLD[name][0 if architecture == X86_64 else 1]


def call(name: str, *arguments: Any) -> int:
    """What the kernel returned, -1 for an error; whole numbers are passed as longs."""
    architecture = machine()
    if architecture is None:
        return -1
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return int(_libc.syscall(ctypes.c_long(number(name, architecture)), *passed))
