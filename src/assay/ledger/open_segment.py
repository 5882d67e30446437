"""OpenSegment: one segment under its writer's lock."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import secrets
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.ledger.chain import SCHEMA
from assay.ledger.line import FIRST_PREV
from assay.ledger.line import Span
from assay.ledger.line import format_line
from assay.ledger.repair import repair_rows
from assay.ledger.repair import repair_samples
from assay.ledger.row import OPENING
from assay.ledger.row import Entry
from assay.ledger.row import Row
from assay.ledger.row import SampleSpan
from assay.ledger.segment import ROWS_SUFFIX
from assay.ledger.segment import Segment
from assay.ledger.storage import refusal_explained
from assay.ledger.storage import sync_folder
from assay.ledger.storage import write_at
from assay.spec.environment import Environment
from assay.spec.errors import EvidenceError
from assay.spec.errors import StorageError
from assay.spec.errors import quote
from assay.spec.noun import sha256_hex

_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


class _End(NamedTuple):
    """Where the acknowledged part ends; replaced as a whole, so that no signal can split it."""

    n: int
    prev: str
    size: int
    samples_size: int


class OpenSegment:
    """Appends in this order: samples, fsync, rows, fsync; then, and only then, acknowledges.

    A kill between any two of these steps leaves whole rows, then at most one torn tail; a refused
    write is rolled back to the last acknowledged byte.
    """

    def __init__(self, segment: Segment, fd: int, end: _End) -> None:
        self.segment = segment
        self._fd = fd
        self._samples_fd: int | None = None
        self._end = end
        self._dirty = False

    @property
    def size(self) -> int:
        """Bytes of acknowledged rows."""
        return self._end.size

    @classmethod
    def create(cls, folder: Path, environment: Environment) -> OpenSegment:
        """A new segment; it gets its name only when its opening row is on the disk and locked."""
        now = datetime.datetime.now(datetime.UTC)
        name = f"{now:%Y%m%dT%H%M%S}-{environment.host}-{secrets.token_hex(4)}"
        unnamed = folder / f".{name}.new"
        fd = os.open(unnamed, _FLAGS | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            body = {
                "writer": name,
                "schema": SCHEMA,
                "inode": os.fstat(fd).st_ino,
                "environment": environment.content(),
            }
            line, digest = format_line(0, FIRST_PREV, _timestamp(), OPENING, body, None)
            write_at(fd, line, 0)
            os.fsync(fd)
            os.rename(unnamed, folder / f"{name}{ROWS_SUFFIX}")
            sync_folder(folder)
        except OSError:
            os.close(fd)
            unnamed.unlink(missing_ok=True)
            raise
        segment = Segment(folder=folder, name=name, size=len(line), torn=0)
        return cls(segment, fd, _End(1, digest, len(line), 0))

    @classmethod
    def resume(cls, folder: Path, name: str) -> OpenSegment | None:
        """The segment, repaired; None when another writer has it."""
        path = folder / f"{name}{ROWS_SUFFIX}"
        with contextlib.ExitStack() as opening:
            fd = os.open(path, _FLAGS)
            opening.callback(os.close, fd)
            if not _locked(fd, path):
                return None
            segment = Segment.at(folder, name)
            chain = repair_rows(fd, segment)
            end = _End(chain.n, chain.prev or "", segment.size, chain.samples_end or 0)
            opened = cls(segment, fd, end)
            opening.pop_all()
            opening.callback(opened.close)
            opened._resume_samples()
            opening.pop_all()
        return opened

    def append(self, entries: Sequence[Entry]) -> list[Row]:
        """All of the entries, or an error and none of them."""
        path = self.segment.rows_path
        with refusal_explained("append to the ledger", path):
            self._check_undisturbed()
        rows, lines, members = self._compose(entries)
        start = self._end
        with refusal_explained("append to the ledger", path), self._all_or_nothing():
            if members:
                self._write_samples(members)
            write_at(self._fd, lines, start.size)
            os.fsync(self._fd)
            self._end = _End(
                start.n + len(rows),
                rows[-1].hash,
                start.size + len(lines),
                start.samples_size + len(members),
            )
        return rows

    def close(self) -> None:
        """Closing the file gives its lock back."""
        os.close(self._fd)
        if self._samples_fd is not None:
            os.close(self._samples_fd)

    def _compose(self, entries: Sequence[Entry]) -> tuple[list[Row], bytes, bytes]:
        rows: list[Row] = []
        lines: list[bytes] = []
        members: list[bytes] = []
        n, prev, _, offset = self._end
        for entry in entries:
            span = None
            if entry.samples is not None:
                member = entry.samples.member
                span = Span(offset, len(member), sha256_hex(member))
                members.append(member)
                offset = span.end
            time = _timestamp()
            line, digest = format_line(n, prev, time, entry.kind, entry.body, span)
            lines.append(line)
            rows.append(
                Row(
                    segment=self.segment.name,
                    n=n,
                    prev=prev,
                    time=time,
                    kind=entry.kind,
                    body=entry.body,
                    samples=SampleSpan(**span._asdict()) if span else None,
                    hash=digest,
                )
            )
            n, prev = n + 1, digest
        return rows, b"".join(lines), b"".join(members)

    def _write_samples(self, members: bytes) -> None:
        if self._samples_fd is None:
            self._samples_fd = os.open(self.segment.samples_path, _FLAGS | os.O_CREAT, 0o644)
            sync_folder(self.segment.folder)
        write_at(self._samples_fd, members, self._end.samples_size)
        os.fsync(self._samples_fd)

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        self._dirty = True
        try:
            yield
            self._dirty = False
        finally:
            if self._dirty:
                # A disk that refuses this too leaves a tail, which the next append cuts.
                with contextlib.suppress(OSError):
                    self._roll_back()

    def _roll_back(self) -> None:
        os.ftruncate(self._fd, self.size)
        if self._samples_fd is not None:
            os.ftruncate(self._samples_fd, self._end.samples_size)
        self._dirty = False

    def _check_undisturbed(self) -> None:
        if self._dirty:
            self._roll_back()
        state = os.fstat(self._fd)
        where = quote(self.segment.rows_path)
        if state.st_nlink == 0:
            raise StorageError(
                "the segment was removed while it was being written",
                where=where,
                next_step="restore it, or start again to open a new one",
            )
        if state.st_size != self.size:
            raise EvidenceError(
                f"another program changed the segment: {state.st_size} bytes, not {self.size}",
                where=where,
                next_step="run assay ledger verify",
            )

    def _resume_samples(self) -> None:
        try:
            self._samples_fd = os.open(self.segment.samples_path, _FLAGS)
        except FileNotFoundError:
            if self._end.samples_size:
                raise EvidenceError(
                    "rows refer to samples that are gone",
                    where=quote(self.segment.samples_path),
                    next_step="run assay ledger verify",
                ) from None
            return
        repair_samples(self._samples_fd, self.segment, self._end.samples_size)


def _locked(fd: int, path: Path) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # A merge may have put another file in this place between the opening and the lock.
    return os.path.samestat(os.fstat(fd), path.stat())


def _timestamp() -> str:
    now = datetime.datetime.now(datetime.UTC)
    return now.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
