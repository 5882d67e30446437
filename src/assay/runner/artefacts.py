"""Artefacts: what a solution's own compilers leave in its cache, so that the next process need not
compile again.

A tool such as ninja builds again whatever looks older than what it was made from. So artefacts keep
the time at which they were written, and sources are older than anything that is made of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CACHE = "cache"
"""Below a solution's folder: what compilers of its own (Triton, inductor, a package's JIT) make."""
SOURCE_TIME = 1_000_000_000 * 10**9
"""When every source was written, in nanoseconds since 1970: long ago, and always the same."""


def write_sources(folder: Path, files: Mapping[str, str]) -> None:
    """Files by path, their bytes in hexadecimal."""
    for path, content in files.items():
        _write(folder / path, content, SOURCE_TIME)


def write_artefacts(folder: Path, files: Mapping[str, str], times: Mapping[str, int]) -> None:
    """What `artefacts` gave in an earlier process of the same solution."""
    for path, content in files.items():
        _write(folder / CACHE / path, content, times.get(path))


def _write(target: Path, content: str, written: int | None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(bytes.fromhex(content))
    if written is not None:
        os.utime(target, ns=(written, written))


def artefacts(folder: Path, most_bytes: int) -> dict[str, str]:
    """What the solution's own compilers made, up to a size; beyond it nothing, and they make it
    again in every process."""
    files = _made(folder)
    if sum(path.stat().st_size for path in files.values()) > most_bytes:
        return {}
    return {name: path.read_bytes().hex() for name, path in files.items()}


def times(folder: Path) -> dict[str, int]:
    """When each of them was written."""
    return {name: path.stat().st_mtime_ns for name, path in _made(folder).items()}


def _made(folder: Path) -> dict[str, Path]:
    cache = folder / CACHE
    files = sorted(path for path in cache.rglob("*") if path.is_file())
    return {path.relative_to(cache).as_posix(): path for path in files}


def cache_variables(folder: Path, given: Mapping[str, Any], place: str) -> dict[str, str]:
    """The variables that a lock names, `place` replaced by the cache, and those of the compilers
    that any solution may have: of these two nobody else decides."""
    cache = str(folder / CACHE)
    return {
        **{name: str(value).replace(place, cache) for name, value in given.items()},
        "TRITON_CACHE_DIR": f"{cache}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor",
    }
