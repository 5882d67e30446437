"""Wheels, unpacked: nothing has to be installed on arrival."""

from __future__ import annotations

import email
import functools
import hashlib
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.pack.entry import Entry
from assay.pack.entry import checked_path
from assay.pack.manifest import SITE
from assay.pack.manifest import PackedWheel
from assay.spec.errors import UsageError
from assay.spec.errors import quote

_EXECUTABLE = 0o100
_DATA = ".data"
_METADATA = ".dist-info/METADATA"
_IMPORTABLE = {"purelib", "platlib"}


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

    def packed(self) -> PackedWheel:
        with self._path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return PackedWheel(
            name=self.name,
            version=self.version,
            file=self._path.name,
            sha256=digest,
            bytes=self._path.stat().st_size,
        )

    @property
    def requires(self) -> tuple[str, ...]:
        """The requirements that its metadata names."""
        for info in self._archive.infolist():
            if info.filename.count("/") == 1 and info.filename.endswith(_METADATA):
                message = email.message_from_bytes(self._read(info))
                return tuple(map(str, message.get_all("Requires-Dist", [])))
        raise self._damaged("it has no metadata")

    def entries(self) -> Iterator[Entry]:
        """What an installer would put where Python imports from; scripts and headers stay."""
        for info in self._archive.infolist():
            path = None if info.is_dir() else _placed(info.filename)
            if path is not None:
                yield Entry(
                    path=checked_path(f"{SITE}/{path}", quote(self._path.name)),
                    part=self.part,
                    size=info.file_size,
                    read=functools.partial(self._read, info),
                    executable=bool(info.external_attr >> 16 & _EXECUTABLE),
                )

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


def _placed(path: str) -> str | None:
    """Where a file of the wheel goes below `site/`; None if nothing imports it."""
    top, _, rest = path.partition("/")
    if not top.endswith(_DATA):
        return path
    scheme, _, inner = rest.partition("/")
    return inner if scheme in _IMPORTABLE else None
