"""Stand-ins for a published package: a few files, a lock that names them, and an adapter."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.judge.case import Contender
from assay.spec.documents import parse_document
from assay.spec.lock import LOCK_FILE
from assay.spec.lock import BaselineLock
from assay.spec.noun import sha256_hex
from assay.spec.solution import SealedSolution
from assay.spec.solution import Solution
from assay.spec.source import SourceFile

ADAPTER = """
from standin.ops import twice as entry

def twice(x, y, *, bias):
    entry(x, y, bias)
"""

PACKAGE = {
    "standin/__init__.py": "",
    "standin/ops.py": """
        import torch

        def twice(x, y, bias):
            if torch.is_grad_enabled():
                y.copy_(x)
                y.mul_(2)
            else:
                torch.mul(x, 2, out=y)
            y.add_(bias)
    """,
}
"""Its entry silently takes another path where gradients are enabled."""


def lock_of(files: Mapping[str, str], **more: Any) -> BaselineLock:
    """A lock over these files; `more` are fields of it, `kernels` and such of its one entry."""
    of_entry = {key: more.pop(key) for key in ("kernels", "dtypes", "layouts") if key in more}
    sealed = [_sealed(path, _bytes(text)).content() for path, text in files.items()]
    document: dict[str, Any] = {
        "schema": "assay.lock.1",
        "package": "standin",
        "version": "1.2.3",
        "wheel": "standin-1.2.3-py3-none-any.whl",
        "wheel_sha256": "0" * 64,
        "entries": {"twice": {"entry": more.pop("entry", "standin.ops:twice"), **of_entry}},
        "files": sealed,
        **more,
    }
    return parse_document(document, BaselineLock, LOCK_FILE)


def pinned(files: Mapping[str, str] = PACKAGE, *, adapter: str = ADAPTER, **more: Any) -> Contender:
    """A contender as a baseline out of a wheel is one."""
    lock = lock_of(files, **more)
    solution = parse_document(
        {
            "schema": "assay.solution.1",
            "name": "standin",
            "language": "torch",
            "sources": ["adapter.py"],
            "entry": "adapter.py",
        },
        Solution,
        "solution.toml",
    )
    document, own = lock.canonical(), _bytes(adapter)
    sealed = SealedSolution(
        solution=solution, files=(_sealed("adapter.py", own), _sealed(LOCK_FILE, document))
    )
    snapshot = {path: _bytes(text) for path, text in files.items()}
    return Contender(sealed, {"adapter.py": own, **snapshot, LOCK_FILE: document}, lock)


def _bytes(text: str) -> bytes:
    return textwrap.dedent(text).encode()


def _sealed(path: str, content: bytes) -> SourceFile:
    return SourceFile(path=path, sha256=sha256_hex(content), bytes=len(content))


def written(folder: Path, lock: BaselineLock, files: Mapping[str, str]) -> None:
    """The folder of a wheel baseline, its snapshot there."""
    (folder / "snapshot").mkdir(parents=True)
    (folder / LOCK_FILE).write_text(json.dumps(lock.content()))
    (folder / "adapter.py").write_text(ADAPTER)
    (folder / "solution.toml").write_text(
        'schema = "assay.solution.1"\nname = "standin"\nlanguage = "torch"\n'
        'sources = ["adapter.py"]\nentry = "adapter.py"\n'
    )
    for path, text in files.items():
        target = folder / "snapshot" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_bytes(text))
