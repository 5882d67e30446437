"""A tiny package that is published in two versions, and a task with a baseline out of it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from assay.pack.target import DEFAULT_PLATFORM
from assay.pack.target import DEFAULT_PYTHON
from assay.pack.target import Target
from assay.task.new import new_task
from assay.task.snapshot.make import Recipe
from assay.task.snapshot.published import Published
from assay.task.snapshot.published import open_wheel

TARGET = Target.of(DEFAULT_PYTHON, [DEFAULT_PLATFORM])
ENTRY = "tiny.ops.act:silu"

FILES = {
    "tiny/__init__.py": "from tiny.server import serve\n",
    "tiny/server.py": "import tiny_web\nfrom tiny import models\n\ndef serve(): ...\n",
    "tiny/models.py": "WEIGHTS = 'x' * 1000\n",
    "tiny/numerics.py": "import math\n\ndef one(): return math.cos(0.0)\n",
    "tiny/ops/__init__.py": (
        '_EXPORTS = {"silu": "act", "other": "unused"}\n'
        "def __getattr__(name):\n"
        "    from importlib import import_module\n"
        '    return getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)\n'
    ),
    "tiny/ops/unused.py": "def other(): ...\n",
    "tiny/ops/act.py": (
        "import torch\n"
        "from ..numerics import one\n"
        "\n"
        "def silu(x):\n"
        "    from .late import factor\n"
        "    return torch.nn.functional.silu(x) * one() * factor()\n"
        "\n"
        'SOURCE = "act/silu.cuh"\n'
    ),
    "tiny/ops/late.py": "def factor(): return 1.0\n",
    "tiny/csrc/act/silu.cuh": '#include <tiny_kernel/vec.cuh>\n#include "near.cuh"\n',
    "tiny/csrc/act/near.cuh": "#include <cuda_fp16.h>\n",
    "tiny/include/tiny_kernel/vec.cuh": "// vectors\n",
    "tiny/include/tiny_kernel/alone.cuh": "// nobody includes it\n",
}
REQUIRES = ("torch>=2.1", "tiny-web==3; extra == 'server'", "einops>=0.6")
CLOSURE = {
    "tiny/csrc/act/near.cuh",
    "tiny/csrc/act/silu.cuh",
    "tiny/include/tiny_kernel/vec.cuh",
    "tiny/numerics.py",
    "tiny/ops/__init__.py",
    "tiny/ops/act.py",
    "tiny/ops/late.py",
}
SHIM = {"tiny": "imports the server"}


def publish(
    folder: Path,
    version: str = "1.0",
    files: Mapping[str, str | bytes] | None = None,
    *,
    inside: str | None = None,
    requires: tuple[str, ...] = REQUIRES,
    tag: str = "py3-none-any",
    name: str = "tiny",
) -> Path:
    """A wheel with these files; `inside` is the version that its metadata claims."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
    content: dict[str, str | bytes] = dict(FILES if files is None else files)
    content[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {inside or version}\n{needs}"
    )
    content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in content)
    path = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for entry, data in content.items():
            archive.writestr(entry, data)
    return path


def published(
    folder: Path, files: Mapping[str, str | bytes], **options: Any
) -> AbstractContextManager[Published]:
    """A wheel of these files, open."""
    return open_wheel(
        publish(folder, files=files, **options), "tiny", options.get("version", "1.0")
    )


def make_task(folder: Path) -> Path:
    """A task whose baseline `upstream` is out of a wheel; its lock is not made yet."""
    new_task(folder, "own/silu")
    with (folder / "task.toml").open("a") as file:
        file.write('\n[[baselines]]\nkind = "wheel"\nname = "upstream"\n')
        file.write('path = "baselines/upstream"\n')
    place = folder / "baselines/upstream"
    (place / "shims/tiny").mkdir(parents=True)
    (place / "shims/tiny/__init__.py").write_text('"""No server."""\n')
    (place / "adapter.py").write_text(
        "from tiny.ops.act import silu as upstream\n\ndef silu(x, y):\n    y.copy_(upstream(x))\n"
    )
    (place / "solution.toml").write_text(
        'schema = "assay.solution.1"\nname = "upstream"\nlanguage = "torch"\n'
        'sources = ["adapter.py"]\nentry = "adapter.py"\n'
    )
    return place


def recipe(**changes: Any) -> Recipe:
    settings: dict[str, Any] = {
        "package": "tiny",
        "version": "1.0",
        "entries": {"silu": ENTRY},
        "shims": SHIM,
    }
    return Recipe(**(settings | changes))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file by its path in the folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
