"""A published wheel, open for reading: its files by path and its modules by name."""

from __future__ import annotations

import email
import hashlib
import zipfile
import zlib
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from functools import cached_property
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion
from packaging.version import Version

from assay.spec.errors import UsageError
from assay.spec.errors import quote

_INIT = "__init__"
_SOURCE = ".py"
_MACHINE_CODE = ".so"
_METADATA = ".dist-info/METADATA"
_DATA = ".data"
_IMPORTABLE = ("purelib", "platlib")


@dataclass(frozen=True)
class Published:
    """One version of one package, as its wheel holds it."""

    package: str
    version: str
    wheel: str
    sha256: str
    requires: tuple[str, ...]
    entries: Mapping[str, zipfile.ZipInfo]
    """By the path that Python would import from."""
    archive: zipfile.ZipFile

    @cached_property
    def modules(self) -> dict[str, str]:
        """The path of every module; of a package, that of its `__init__`."""
        found = {}
        for path in self.entries:
            if path.endswith((_SOURCE, _MACHINE_CODE)):
                name = _module_name(path)
                # Python looks for machine code first; a package goes before both.
                if name not in found or path.endswith((_MACHINE_CODE, f"{_INIT}{_SOURCE}")):
                    found[name] = path
        return found

    @cached_property
    def packages(self) -> frozenset[str]:
        """Folders that hold modules, with an `__init__` or without."""
        return frozenset(parent for module in self.modules for parent in parents(module))

    @cached_property
    def tops(self) -> frozenset[str]:
        return frozenset(module.partition(".")[0] for module in self.modules)

    def is_package(self, module: str) -> bool:
        return self.modules.get(module, "").endswith(f"/{_INIT}{_SOURCE}")

    def read(self, path: str) -> bytes:
        return _read(self.archive, self.entries[path], self.wheel)

    @property
    def words(self) -> str:
        return f"{self.package} {self.version}"


def parents(module: str) -> Iterator[str]:
    """The packages that are imported on the way to a module, outermost first."""
    parts = module.split(".")
    for count in range(1, len(parts)):
        yield ".".join(parts[:count])


def _module_name(path: str) -> str:
    folder, _, file = path.rpartition("/")
    stem = file.partition(".")[0]
    dotted = folder.replace("/", ".")
    if stem == _INIT:
        return dotted
    return f"{dotted}.{stem}" if dotted else stem


@contextmanager
def open_wheel(path: Path, package: str, version: str) -> Iterator[Published]:
    """The wheel at a path; UsageError if it is damaged, or not of that package and version."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise _damaged(path.name, error) from None
    with archive:
        entries = {
            placed: info
            for info in archive.infolist()
            if not info.is_dir() and (placed := _placed(info.filename))
        }
        said = _metadata(archive, entries, path.name)
        name, found = canonicalize_name(str(said["Name"])), str(said["Version"])
        if name != canonicalize_name(package) or not _same(found, version):
            raise UsageError(
                f"a wheel of {quote(name)} {quote(found)}, not of {package} {version}",
                where=quote(path.name),
            )
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        requires = tuple(map(str, said.get_all("Requires-Dist", [])))
        yield Published(package, version, path.name, digest, requires, entries, archive)


def _placed(path: str) -> str | None:
    """Where an installer puts a file of the wheel; None if nothing imports it."""
    top, _, rest = path.partition("/")
    if not top.endswith(_DATA):
        return path
    scheme, _, inner = rest.partition("/")
    return inner if scheme in _IMPORTABLE else None


def _metadata(
    archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo], wheel: str
) -> Message:
    for name, info in entries.items():
        if name.count("/") == 1 and name.endswith(_METADATA):
            return email.message_from_bytes(_read(archive, info, wheel))
    raise _damaged(wheel, "it has no metadata")


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, wheel: str) -> bytes:
    try:
        return archive.read(info)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise _damaged(wheel, error) from None


def _damaged(wheel: str, error: object) -> UsageError:
    return UsageError(
        f"a damaged wheel: {quote(error)}", where=quote(wheel), next_step="fetch it again"
    )


def _same(one: str, other: str) -> bool:
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return one == other
