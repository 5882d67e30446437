"""The file system as a runner sees it: read-only, with /tmp, /dev/shm and /proc of its own.

Only in a mount namespace of one's own. Standard library and libc only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

from assay.runner import syscalls

PRIVATE = ("/tmp", "/dev/shm")

_READ_ONLY = 1
_NO_SETUID = 2
_NO_DEVICES = 4
_NO_EXECUTION = 8
_REMOUNT = 0x20
_BIND = 0x1000
_RECURSIVE = 0x4000
_UNSHARED = 0x40000

_HERE = -100
_ALL_BELOW = 0x8000
_OPTIONS = {"nosuid": _NO_SETUID, "nodev": _NO_DEVICES, "noexec": _NO_EXECUTION}
_ESCAPED = re.compile(rb"\\([0-7]{3})")

_libc = ctypes.CDLL(None, use_errno=True)


class Arranged(NamedTuple):
    private: bool
    """Whether /tmp and /dev/shm are new and empty."""
    read_only: bool
    """Whether nothing else can be written."""


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    ]


def arrange(
    megabytes: int,
    *,
    private: bool = True,
    read_only: bool = True,
    own: str | None = None,
    readable: Iterable[str] = (),
) -> Arranged:
    """Whatever of it is wanted and granted; a folder of one's own stays where it is, writable.

    What Python, this package or the caller needs below a private folder stays, read-only.
    """
    if _mount(None, "/", None, _RECURSIVE | _UNSHARED) != 0:
        return Arranged(False, False)
    kept = {path: os.open(path, os.O_PATH) for path in _needed_below(PRIVATE, readable)}
    mine = {own: os.open(own, os.O_PATH)} if own is not None else {}
    read_only = read_only and _make_read_only()
    private = private and all(_empty(folder, megabytes) for folder in PRIVATE)
    bound = [_bind(at, path, read_only=True) for path, at in kept.items() if private]
    if read_only and not private:
        mine.update({folder: os.open(folder, os.O_PATH) for folder in PRIVATE})
    bound += [_bind(at, path, read_only=False) for path, at in mine.items()]
    for descriptor in (*kept.values(), *mine.values()):
        os.close(descriptor)
    return Arranged(private and all(bound), read_only)


def own_proc(*, read_only: bool, but: str | None = None) -> bool:
    """A /proc that shows only this pid namespace, whose first process must ask for it.

    A folder in it can stay writable where the rest is not.
    """
    flags = _NO_SETUID | _NO_DEVICES | _NO_EXECUTION
    if _mount("proc", "/proc", "proc", flags) != 0:
        return False
    if but is not None and read_only and _mount(but, but, None, _BIND) != 0:
        return False
    return not read_only or _mount(None, "/proc", None, _BIND | _REMOUNT | _READ_ONLY | flags) == 0


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> int:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    return int(_libc.mount(*encoded, ctypes.c_ulong(flags), data.encode() or None))


def _empty(folder: str, megabytes: int) -> bool:
    options = f"size={megabytes}m,mode=1777"
    return _mount("tmpfs", folder, "tmpfs", _NO_SETUID | _NO_DEVICES, options) == 0


def _make_read_only() -> bool:
    """Everything that is mounted now. What is mounted from here on is not."""
    attributes = _Attributes(set=_READ_ONLY)
    size = ctypes.sizeof(attributes)
    done = syscalls.call("mount_setattr", _HERE, b"/", _ALL_BELOW, ctypes.byref(attributes), size)
    return done == 0 or _remount_each()


def _remount_each() -> bool:
    """The same before Linux 5.12: one mount after the other, each with the flags it has."""
    with open("/proc/self/mountinfo", "rb") as file:
        lines = [line.split() for line in file]
    for fields in lines:
        path = os.fsdecode(_ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), fields[4]))
        options = fields[5].decode().split(",")
        flags = sum(bit for name, bit in _OPTIONS.items() if name in options)
        if _mount(None, path, None, _BIND | _REMOUNT | _READ_ONLY | flags) == 0:
            continue
        # Covered by another mount: nobody can reach it.
        if ctypes.get_errno() not in {errno.EINVAL, errno.ENOENT}:
            return False
    return bool(os.statvfs("/").f_flag & os.ST_RDONLY)


def _needed_below(folders: tuple[str, ...], more: Iterable[str] = ()) -> list[str]:
    """Where Python finds its modules, and more, as far as that is below one of the folders."""
    places = {os.path.realpath(p) for p in (sys.prefix, sys.base_prefix, *sys.path, *more) if p}
    below = [p for p in places if p.startswith(tuple(f"{folder}/" for folder in folders))]
    inner = [p for p in below if any(p.startswith(f"{other}/") for other in below)]
    return sorted(p for p in below if p not in inner and os.path.isdir(p))


def _bind(descriptor: int, path: str, *, read_only: bool) -> bool:
    """Have what the descriptor names at a path, writable or not."""
    os.makedirs(path, exist_ok=True)
    if _mount(f"/proc/self/fd/{descriptor}", path, None, _BIND | _RECURSIVE) != 0:
        return False
    kept = os.statvfs(path).f_flag & _NO_EXECUTION
    flags = _BIND | _REMOUNT | _NO_SETUID | _NO_DEVICES | kept | (_READ_ONLY if read_only else 0)
    return _mount(None, path, None, flags) == 0
