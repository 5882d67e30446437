"""The archive of a bundle: a zip that any tool opens, of which there is one spelling.

Entries are stored, sorted and without times, so equal content gives equal bytes. The reader takes
nothing else: what it has read is packed again and compared with the file, so no byte lies outside
what was checked, and nothing is ever unpacked to more than the file holds. Python's own zipfile
promises neither.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

LARGEST_ARCHIVE = 128 << 20
LONGEST_PATH = 240
MOST_ENTRIES = 60_000

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_VERSION = 20
_MADE_BY = 3 << 8 | _VERSION  # Unix
_STORED = (_VERSION, 0, 0, 0, 0x21)  # version, flags, method, time, date: 1980-01-01
_PLAIN_FILE = 0o100644 << 16
_PATH = re.compile(rb"[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+)*")


class ArchiveError(ValueError):
    """The bytes are no archive of ours; says at which byte."""


@dataclass(frozen=True)
class Archive:
    entries: Mapping[str, bytes]
    fault: str | None
    """Where the file is not what these entries pack to; None where it is."""


def pack(entries: Mapping[str, bytes]) -> bytes:
    """The archive of the entries, by path."""
    body, directory = bytearray(), bytearray()
    for path, data in sorted(entries.items()):
        name = path.encode()
        sizes = (zlib.crc32(data), len(data), len(data), len(name))
        directory += _CENTRAL.pack(
            _CENTRAL_MARK, _MADE_BY, *_STORED, *sizes, 0, 0, 0, 0, _PLAIN_FILE, len(body)
        )
        directory += name
        body += _LOCAL.pack(_LOCAL_MARK, *_STORED, *sizes, 0) + name + data
    count = len(entries)
    end = _END.pack(_END_MARK, 0, 0, count, count, len(directory), len(body), 0)
    return bytes(body + directory + end)


def unpack(data: bytes) -> Archive:
    """The entries of an archive; raises ArchiveError where there is no telling what they are."""
    if len(data) > LARGEST_ARCHIVE:
        raise ArchiveError(f"larger than {LARGEST_ARCHIVE >> 20} MiB")
    entries: dict[str, bytes] = {}
    position, last = 0, ""
    while data[position : position + 4] == _LOCAL_MARK:
        path, content, position = _entry(data, position)
        if path <= last:
            raise ArchiveError(f"byte {position}: entry {path} is not in order, or there twice")
        if len(entries) == MOST_ENTRIES:
            raise ArchiveError(f"more than {MOST_ENTRIES} entries")
        entries[path], last = content, path
    if not entries:
        raise ArchiveError("byte 0: this is no bundle")
    return Archive(entries, _fault(data, pack(entries)))


def _entry(data: bytes, start: int) -> tuple[str, bytes, int]:
    try:
        _, *stored, _, packed, size, name_size, extra = _LOCAL.unpack_from(data, start)
    except struct.error:
        raise ArchiveError(f"byte {start}: the file ends within an entry") from None
    if tuple(stored) != _STORED or packed != size or extra:
        raise ArchiveError(f"byte {start}: an entry that assay bundle make does not write")
    name_start = start + _LOCAL.size
    content_start = name_start + name_size
    name = data[name_start:content_start]
    if len(name) > LONGEST_PATH or not _PATH.fullmatch(name) or _leaves(name):
        raise ArchiveError(f"byte {name_start}: a path that no bundle holds")
    if content_start + size > len(data):
        raise ArchiveError(f"byte {start}: the file ends within entry {name.decode()}")
    return name.decode(), data[content_start : content_start + size], content_start + size


def _leaves(name: bytes) -> bool:
    return any(part in {b".", b".."} for part in name.split(b"/"))


def _fault(data: bytes, expected: bytes) -> str | None:
    if data == expected:
        return None
    pairs = zip(data, expected, strict=False)
    first = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(data), len(expected)))
    return f"byte {first}: not as assay bundle make writes it"
