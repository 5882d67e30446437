"""Program: a solution ready to be loaded by a runner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from assay.spec.lock import CACHE_PLACE
from assay.spec.lock import BaselineLock
from assay.spec.solution import Language
from assay.spec.solution import Solution
from assay.spec.task import Task

NATIVE = frozenset({Language.CPP, Language.CUDA})


@dataclass(frozen=True)
class Artefact:
    """A file that a solution's own compiler made."""

    content: bytes
    written: int
    """Nanoseconds since 1970, as its runner has it: what builds by the times of files must find
    the same in the next process."""


@dataclass(frozen=True)
class Program:
    task: Task
    solution: Solution
    files: Mapping[str, bytes]
    """What is written into the runner's own folder: sources, or the built library alone."""
    entry: str
    cache: Mapping[str, Artefact] = field(default_factory=dict)
    """What the solution's own compiler made in an earlier runner; opaque, and only ever given
    back to the same solution."""
    lock: BaselineLock | None = None
    """Of a baseline out of a wheel; nobody else's variables are set in a runner."""

    def request(self, *, interpret: bool) -> dict[str, Any]:
        language = self.solution.language
        return {
            "do": "load",
            "language": language.value,
            "entry": self.entry,
            "files": {path: content.hex() for path, content in self.files.items()},
            "cache": {path: made.content.hex() for path, made in self.cache.items()},
            "times": {path: made.written for path, made in self.cache.items()},
            "environment": {} if self.lock is None else dict(self.lock.environment),
            "cache_place": CACHE_PLACE,
            "gradients": self.task.contract.gradients,
            # A native library has its config compiled in.
            "config": {} if language in NATIVE else dict(self.solution.config),
            "convention": self.solution.convention.value,
            "prepare": self.solution.prepare,
            "interpret": interpret and language is Language.TRITON,
        }
