"""What a runner takes from itself before it loads anybody's code, file by file of this folder.

Here: processes, privileges, limits, descriptors. Standard library and libc only.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal

_CLONE_NEWNS = 0x00020000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION = 0x20080522
_MOST_CAPABILITIES = 64

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """SIGKILL when the parent goes, however it goes; at once if it went before this call."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def die_with_holder(lifeline: int) -> None:
    """The same for a process that cannot see its parent's number, being first in its namespace:
    the parent holds the other end of a pipe, which is closed if it went before this call."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if select.select([lifeline], [], [], 0)[0]:
        os._exit(1)


def enter_namespaces() -> bool:
    """New user, pid (for children), network, ipc and mount namespaces, or none of them."""
    user, group = os.geteuid(), os.getegid()
    flags = _CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWNS
    if _libc.unshare(flags) != 0:
        return False
    try:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    except OSError:
        return False
    return True


def adopt_orphans() -> None:
    """Descendants whose parents end become children of this process instead of init's."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_children() -> None:
    """Kill every child, and those that they leave behind, until there is none."""
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            children = [int(pid) for pid in file.read().split()]
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def no_new_privileges() -> None:
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def drop_capabilities() -> None:
    """Be nobody special, in this namespace or outside: mounts made before cannot be unmade."""
    for capability in range(_MOST_CAPABILITIES):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _libc.capset(header, (ctypes.c_uint32 * 6)())


def bound_resources(memory_bytes: int, cpu_seconds: int, *, on_gpu: bool = False) -> None:
    """Memory beyond what is mapped now, CPU time, no core files.

    A GPU's driver reserves terabytes of addresses that it never fills, so there only memory that
    can be written is counted.
    """
    with open("/proc/self/statm") as file:
        fields = [int(field) * resource.getpagesize() for field in file.read().split()]
    kind, held = (resource.RLIMIT_DATA, fields[5]) if on_gpu else (resource.RLIMIT_AS, fields[0])
    resource.setrlimit(kind, (held + memory_bytes, held + memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def close_all_but(keep: set[int]) -> None:
    """Nothing is inherited: every descriptor goes except those named and the standard three."""
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        if descriptor > 2 and descriptor not in keep:
            try:
                os.close(descriptor)
            except OSError:
                continue  # the descriptor that listed the folder


def silence() -> None:
    """Standard streams lead nowhere: what a solution prints is not evidence."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    if null > 2:
        os.close(null)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
