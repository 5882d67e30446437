"""Large wheels travel as .tar.xz, of which equal wheels give equal bytes."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

from assay.pack.entry import Entry
from assay.pack.manifest import ARCHIVE
from assay.pack.manifest import COMPRESSED
from assay.pack.manifest import PackedArchive
from assay.pack.manifest import PackedFile
from assay.pack.wheel import Wheel
from assay.spec.noun import sha256_hex

COMPRESS_FROM = 1 << 20
"""Bytes of a wheel; a smaller one lies there unpacked."""

_PLAIN, _EXECUTABLE = 0o644, 0o755


@dataclass(frozen=True)
class Bulk:
    """A wheel that is to travel compressed, with its files."""

    wheel: Wheel
    entries: tuple[Entry, ...]


def compress(bulk: Bulk, scratch: Path) -> tuple[PackedArchive, Entry]:
    """The archive, made in scratch, as the manifest names it and as an entry of the pack."""
    wheel = bulk.wheel
    file = scratch / f"{wheel.name}-{wheel.version}{ARCHIVE}"
    packed = []
    with tarfile.open(file, "x:xz", preset=9, format=tarfile.PAX_FORMAT) as archive:
        for entry in sorted(bulk.entries, key=lambda entry: entry.path):
            data = entry.read()
            info = tarfile.TarInfo(entry.path)
            info.size = len(data)
            info.mode = _EXECUTABLE if entry.executable else _PLAIN
            archive.addfile(info, io.BytesIO(data))
            packed.append(PackedFile(path=entry.path, sha256=sha256_hex(data), bytes=len(data)))
    path = f"{COMPRESSED}/{file.name}"
    described = PackedArchive(
        wheel=wheel.name,
        path=path,
        unpacked_bytes=sum(each.bytes for each in packed),
        files=tuple(packed),
    )
    return described, Entry(path, wheel.part, file.stat().st_size, file.read_bytes)
