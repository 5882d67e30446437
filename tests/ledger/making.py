"""Small ledgers with known content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.ledger import Ledger
from assay.ledger import Row
from assay.ledger import Samples
from assay.spec.environment import Environment

HOST = "h0123456789ab"


def an_environment(**changes: Any) -> Environment:
    fields: dict[str, Any] = {
        "host": HOST,
        "system": "Linux 6.1",
        "machine": "x86_64",
        "processor": "a processor",
        "cores": 2,
        "memory_bytes": 2**33,
        "python": "3.11.7",
        "assay": "0.1.0",
        "packages": {"torch": "2.9.0"},
    }
    return Environment(**(fields | changes))


def some_samples(seed: int = 0) -> Samples:
    return Samples(columns={"side": ["A", "B"], "nanoseconds": [1000 + seed, 900 + seed]})


def fill(ledger: Ledger, count: int = 3, *, first: int = 0, **changes: Any) -> list[Row]:
    """`count` rows, every second one with samples."""
    with ledger.writer(an_environment(**changes)) as writer:
        return [
            writer.append("note", {"i": i}, some_samples(i) if i % 2 == 0 else None)
            for i in range(first, first + count)
        ]


def a_verdict(i: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "task": "cpu/rms_norm",
        "row": f"r{i}",
        "lane": "throughput",
        "status": "FASTER",
        "ratio": 1.25,
        "interval": [1.125, 1.5],
        "baseline_us": 10.0,
        "candidate_us": 8.0,
        "twin_us": 7.5,
    } | changes


def contents(folder: Path) -> dict[str, bytes]:
    """Every file by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def overwrite(path: Path, data: bytes) -> None:
    """New content in the same inode; never cut to nothing, which makes ext4 wait for the disk."""
    with path.open("r+b" if path.exists() else "wb") as handle:
        handle.write(data)
        handle.truncate()


def restore(folder: Path, files: dict[str, bytes]) -> None:
    """Make the folder hold these files and no others, in place, so that inodes stay."""
    for path in folder.iterdir():
        if path.name not in files:
            path.unlink()
    for name, data in files.items():
        overwrite(folder / name, data)
