"""landlock: which files a solution can reach, whoever it runs as.

What is granted stands in one table, `_SYSTEM` and `_NODES`, beside what Python itself needs;
anything else (home folders, ledgers, solutions of others) cannot be opened. Holds for the thread
that asks for it and all that it starts, so it is asked for before there is a second one.
"""

from __future__ import annotations

import ctypes
import glob
import os
import pwd
import shutil
import stat
import sys
from collections.abc import Iterable
from collections.abc import Iterator

from assay.runner import syscalls

LEAST_ABI = 2
"""Before it no file can be moved from one folder to another, which Triton does."""
ENOUGH_ABI = 3
"""Before it a file that may not be written can still be truncated."""

_EXECUTE = 1 << 0
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_REMOVE = 1 << 4 | 1 << 5
_MAKE_NODE = 1 << 6 | 1 << 11
_MAKE_DIR = 1 << 7
_MAKE_FILE = 1 << 8
_MAKE_SOCKET = 1 << 9
_MAKE_FIFO = 1 << 10
_MAKE_LINK = 1 << 12
_MOVE = 1 << 13
_TRUNCATE = 1 << 14
_CONTROL_DEVICE = 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _CONTROL_DEVICE

LIST = _READ_DIR
READ = _EXECUTE | _READ_FILE | _READ_DIR
WRITE = (
    READ | _WRITE_FILE | _REMOVE | _MAKE_DIR | _MAKE_FILE | _MAKE_SOCKET | _MAKE_FIFO | _MAKE_LINK
) | (_MOVE | _TRUNCATE)
DEVICE = _READ_FILE | _WRITE_FILE | _READ_DIR | _TRUNCATE | _CONTROL_DEVICE

# The rights to files that a kernel knows from each version on: older ones know no later bits.
_KNOWN_BITS = {1: 13, 2: 14, 3: 15, 5: 16}
_TCP_ABI = 4
_TCP = 0b11  # bind, connect
_SCOPE_ABI = 6
_SCOPES = 0b11  # abstract sockets and signals of processes outside
_PATH_BENEATH = 1
_VERSION = 1

# What is read, and by whom.
_SYSTEM: dict[str, str] = {
    "/usr": "libraries, compilers, a packaged CUDA toolkit",
    "/lib*": "the same, where they are not part of /usr",
    "/bin": "the same",
    "/sbin": "ldconfig, which Triton asks for the driver's library",
    "/etc": "the loader's cache, names, the time zone",
    "/opt": "toolkits that vendors install, ROCm among them",
    "/nix/store": "all of this, where the system is made so",
    "/proc": "memory, processors and itself, as torch and drivers ask",
    "/sys": "the topology of processors and devices",
    "/usr/local/cuda": "where it leads out of /usr",
}
# What is opened for reading and writing, by kind of device.
_NODES: dict[str, tuple[str, ...]] = {
    "cpu": ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
    "cuda": ("/dev/nvidia*", "/dev/dxg"),
    "rocm": ("/dev/kfd", "/dev/dri"),
}
_NAMES_THREADS = ("cuda",)
"""Kinds of device whose driver fails where it cannot give its threads a name."""
_COMPILERS = ("cc", "gcc", "g++", "clang", "nvcc", "ptxas")
_PACKAGES = ("site-packages", "dist-packages")
_METADATA = (".dist-info", ".egg-info")
_MODULES = (".py", ".so", ".pyc", ".zip", ".egg")

Grant = tuple[str, int]


class _Ruleset(ctypes.Structure):
    _fields_ = [
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    ]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def abi() -> int:
    """The version that the kernel has, 0 where it has none or it is switched off."""
    return max(syscalls.call("landlock_create_ruleset", None, 0, _VERSION), 0)


def restrict(grants: Iterable[Grant]) -> int:
    """Have this thread and its children reach nothing else from now on.

    Returns the version that holds, 0 where nothing does. Needs no_new_privileges.
    """
    version = abi()
    if version < LEAST_ABI:
        return 0
    known = (1 << max(bits for since, bits in _KNOWN_BITS.items() if since <= version)) - 1
    ruleset = _Ruleset(
        known,
        _TCP if version >= _TCP_ABI else 0,
        _SCOPES if version >= _SCOPE_ABI else 0,
    )
    size = 24 if version >= _SCOPE_ABI else 16 if version >= _TCP_ABI else 8
    descriptor = syscalls.call("landlock_create_ruleset", ctypes.byref(ruleset), size, 0)
    if descriptor < 0:
        return 0
    try:
        for path, rights in grants:
            _grant(descriptor, path, rights & known)
        held = syscalls.call("landlock_restrict_self", descriptor, 0) == 0
    finally:
        os.close(descriptor)
    return version if held else 0


def _grant(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no right
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_FILES
        rule = _Beneath(rights, place)
        syscalls.call("landlock_add_rule", ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(place)


def needs(device: str) -> Iterator[Grant]:
    """What any solution needs, on a kind of device."""
    for pattern in _SYSTEM:
        for path in glob.glob(pattern):
            yield path, READ
    for kind in dict.fromkeys(("cpu", device)):
        for pattern in _NODES.get(kind, ()):
            for path in glob.glob(pattern):
                yield path, DEVICE
    named = thread_names(device)
    if named is not None:
        yield named, READ | _WRITE_FILE | _TRUNCATE
    yield from _of_python()
    yield from ((folder, READ) for folder in _of_libraries())
    yield from ((folder, READ) for name in _COMPILERS for folder in toolkit_of(name))


def thread_names(device: str) -> str | None:
    """The folder of this process's threads, where the device's driver must write to it."""
    return f"/proc/{os.getpid()}/task" if device in _NAMES_THREADS else None


def _of_python() -> Iterator[Grant]:
    for folder in (sys.prefix, sys.base_prefix):
        yield folder, READ
    for entry in sys.path:
        folder = os.path.realpath(entry)
        if os.path.basename(folder) in _PACKAGES:
            yield folder, READ
        elif entry and folder != "/" and os.path.isdir(folder):
            yield from _importable(folder)
    for finder in sys.meta_path:  # packages that are installed where their sources are
        module = sys.modules.get(getattr(finder, "__module__", ""))
        places = getattr(module, "MAPPING", None)
        if isinstance(places, dict):
            yield from ((str(path), READ) for path in places.values())


def _importable(folder: str) -> Iterator[Grant]:
    """Of a folder of anything that is on the path: what can be imported, and the names."""
    try:
        inside = list(os.scandir(folder))
    except OSError:
        return
    found = [entry.path for entry in inside if _is_module(entry)]
    yield from ((path, READ) for path in found)
    if found:
        yield folder, LIST


def _is_module(entry: os.DirEntry[str]) -> bool:
    if entry.name.endswith(_METADATA + _MODULES):
        return True
    return os.path.exists(os.path.join(entry.path, "__init__.py"))


def _of_libraries() -> Iterator[str]:
    """Where the loader was told to look, and a toolkit that a variable names."""
    for entry in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if os.path.isabs(entry) and os.path.realpath(entry) != "/":
            yield entry
    if "CUDA_HOME" in os.environ:
        yield os.environ["CUDA_HOME"]


def toolkit_of(tool: str) -> Iterator[str]:
    """The folder that a compiler's own libraries and headers lie below."""
    found = shutil.which(tool)
    if found is None:
        return
    folder = os.path.dirname(os.path.realpath(found))
    above = os.path.dirname(folder)
    # The folder above somebody's own bin is not a toolkit but a home.
    home = above in {"/", _home()} or os.path.dirname(above) == "/home"
    yield above if os.path.basename(folder) == "bin" and not home else folder


def _home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"
