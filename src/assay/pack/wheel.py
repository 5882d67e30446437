"""Wheels, unpacked: nothing has to be installed on arrival."""

from __future__ import annotations

import email
import functools
import hashlib
import re
import zipfile
import zlib
from collections.abc import Iterator
from email.message import Message
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.pack.entry import Entry
from assay.pack.entry import checked_path
from assay.pack.licence import restriction
from assay.pack.manifest import PROGRAMS
from assay.pack.manifest import PackedWheel
from assay.spec.errors import UsageError
from assay.spec.errors import quote

_EXECUTABLE = 0o100
_DATA = ".data"
_METADATA = ".dist-info/METADATA"
_IMPORTABLE = {"purelib", "platlib"}
_SCRIPTS = "scripts"
_PATHS = ".pth"
# A script of these names an interpreter that an installer would have to put in.
_INTERPRETED = b"#!"


class Wheel:
    """An open wheel; its entries can be read as long as it is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # NAME-VERSION-…whl, in which a name's dashes are written as underscores.
        name, self.version, *_ = path.name.split("-")
        self.name = re.sub("[-_.]+", "-", name).lower()
        try:
            self._archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise self._damaged(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._archive.close()

    @property
    def part(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def wheel_bytes(self) -> int:
        return self._path.stat().st_size

    def packed(self) -> PackedWheel:
        with self._path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return PackedWheel(
            name=self.name,
            version=self.version,
            file=self._path.name,
            sha256=digest,
            bytes=self.wheel_bytes,
            restricted=restriction(self._metadata),
        )

    @property
    def requires(self) -> tuple[str, ...]:
        """The requirements that its metadata names."""
        return tuple(map(str, self._metadata.get_all("Requires-Dist", [])))

    @cached_property
    def _metadata(self) -> Message:
        for info in self._archive.infolist():
            if info.filename.count("/") == 1 and info.filename.endswith(_METADATA):
                return email.message_from_bytes(self._read(info))
        raise self._damaged("it has no metadata")

    def entries(self, root: str) -> Iterator[Entry]:
        """What an installer would put where Python imports from, and its compiled programs.

        Scripts and headers stay behind.
        """
        for info in self._archive.infolist():
            path = None if info.is_dir() else self._placed(info)
            if path is not None:
                yield Entry(
                    path=checked_path(f"{root}/{path}", quote(self._path.name)),
                    part=self.part,
                    size=info.file_size,
                    read=functools.partial(self._read, info),
                    # An installer makes scripts executable, whatever the wheel says.
                    executable=path.startswith(f"{PROGRAMS}/")
                    or bool(info.external_attr >> 16 & _EXECUTABLE),
                )

    def import_folders(self, root: str) -> Iterator[str]:
        """Folders that its .pth files add: Python reads these in its own folders alone."""
        for info in self._archive.infolist():
            if "/" in info.filename or not info.filename.endswith(_PATHS):
                continue
            for line in self._read(info).decode(errors="replace").splitlines():
                folder = line.strip().rstrip("/")
                if folder and not folder.startswith(("#", "import ", "import\t")):
                    yield checked_path(f"{root}/{folder}", quote(self._path.name))

    def _placed(self, info: zipfile.ZipInfo) -> str | None:
        """Where a file of the wheel goes below its root; None if it stays behind."""
        top, _, rest = info.filename.partition("/")
        if not top.endswith(_DATA):
            return info.filename
        scheme, _, inner = rest.partition("/")
        if scheme in _IMPORTABLE:
            return inner
        if scheme == _SCRIPTS and not self._read(info).startswith(_INTERPRETED):
            return f"{PROGRAMS}/{inner}"
        return None

    def _read(self, info: zipfile.ZipInfo) -> bytes:
        try:
            return self._archive.read(info)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: object) -> UsageError:
        return UsageError(
            f"a damaged wheel: {quote(error)}",
            where=quote(self._path.name),
            next_step="fetch it again",
        )
