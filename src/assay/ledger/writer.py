"""Writer: appends rows for one process, in a segment of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from assay.ledger.chain import Chain
from assay.ledger.chain import host_of
from assay.ledger.line import LineError
from assay.ledger.line import decode_body
from assay.ledger.open_segment import OpenSegment
from assay.ledger.row import OPENING
from assay.ledger.row import Entry
from assay.ledger.row import Row
from assay.ledger.samples import Samples
from assay.ledger.segment import ROWS_SUFFIX
from assay.ledger.storage import make_folder
from assay.ledger.storage import refusal_explained
from assay.spec.environment import Environment
from assay.spec.errors import UsageError

# A writer reads its segment once when it continues it: 16 MiB are read and hashed in 0.1 s.
ROTATE_BYTES = 16 << 20


class Writer:
    """Continues this host's newest free segment of the same environment, or starts one.

    Two writers never share a segment: each holds a lock that the system drops when it dies. A copy
    of a segment (by merge, by git, by hand) is never continued, since two continuations would fork;
    the inode in the opening row tells the copy from the original.
    """

    def __init__(
        self, folder: Path, environment: Environment, *, rotate_bytes: int = ROTATE_BYTES
    ) -> None:
        self._folder = folder
        self._environment = environment
        self._rotate_bytes = rotate_bytes
        self._mutex = threading.Lock()
        self._process = os.getpid()
        self._open: OpenSegment | None = None

    def __enter__(self) -> Writer:
        with refusal_explained("open the ledger for writing", self._folder):
            make_folder(self._folder)
            self._open = self._resumed() or OpenSegment.create(self._folder, self._environment)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def segment(self) -> str:
        """The name of the segment being written."""
        return self._opened().segment.name

    def append(self, kind: str, body: Mapping[str, Any], samples: Samples | None = None) -> Row:
        """Write one row; when this returns, the row is on the disk."""
        return self.append_many([Entry.of(kind, body, samples)])[0]

    def append_many(self, entries: Iterable[Entry]) -> list[Row]:
        """Write many rows with one wait for the disk; an error means that none was written.

        A kill in the middle may leave the first few of them.
        """
        batch = list(entries)
        if any(entry.kind == OPENING for entry in batch):
            raise UsageError(f"kind {OPENING!r} is the opening row's own")
        with self._mutex:
            self._rotate_if_full()
            return self._opened().append(batch) if batch else []

    def _opened(self) -> OpenSegment:
        if self._open is None:
            raise UsageError("the writer is not open", next_step="use it in a with statement")
        if os.getpid() != self._process:
            raise UsageError("a writer does not survive a fork", next_step="open one per process")
        return self._open

    def _rotate_if_full(self) -> None:
        full = self._opened()
        if full.size >= self._rotate_bytes:
            with refusal_explained("start a new segment", self._folder):
                self._open = OpenSegment.create(self._folder, self._environment)
            full.close()

    def _resumed(self) -> OpenSegment | None:
        names = (path.name.removesuffix(ROWS_SUFFIX) for path in self._folder.glob("*.jsonl"))
        for name in sorted(names, reverse=True):
            if host_of(name) == self._environment.host and self._is_ours(name):
                opened = OpenSegment.resume(self._folder, name)
                if opened is not None:
                    return opened
        return None

    def _is_ours(self, name: str) -> bool:
        path = self._folder / f"{name}{ROWS_SUFFIX}"
        state = path.stat()
        if state.st_size >= self._rotate_bytes:
            return False
        with path.open("rb") as handle:
            first = handle.readline()
        try:
            body = decode_body(Chain(name).accept(first).body)
        except LineError:
            return False
        return (
            body["environment"] == self._environment.content() and body.get("inode") == state.st_ino
        )
