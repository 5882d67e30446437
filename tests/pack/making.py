"""Tiny wheels in a folder, and packs made of them without a network."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from assay.pack.carried import CarriedBaseline
from assay.pack.carried import CarriedTask
from assay.pack.make import Packed
from assay.pack.make import pack
from assay.pack.resolve import own_requirements
from assay.spec.lock import BaselineLock
from assay.spec.lock import LockedEntry
from assay.task.files import seal
from assay.task.load import load_task
from assay.task.new import new_task

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
OTHER_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1] + 1}"
PLATFORM = f"manylinux_2_28_{platform.machine()}"
OURS = tuple(Requirement(text).name for text in own_requirements())
"""The environment of the tests plays the host, and has all that we need."""


def make_wheel(
    folder: Path,
    name: str = "tiny",
    version: str = "1.0",
    *,
    requires: tuple[str, ...] = (),
    python: str = ">=3.8",
    files: Mapping[str, str] | None = None,
    tag: str = "py3-none-any",
    licence: str = "License-Expression: MIT",
) -> Path:
    """A wheel that pip takes, with these files or a module of its name."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    metadata += f"Requires-Python: {python}\n{licence}\n"
    content = {f"{name}.py": f"VERSION = {version!r}\n"} if files is None else dict(files)
    content[f"{info}/METADATA"] = metadata
    content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in content)
    path = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for entry, text in content.items():
            archive.writestr(entry, text)
    return path


SNAPSHOT = {"waves/__init__.py": b"", "waves/ops.py": b"def my_op(x, y): ...\n"}
"""The files of a package that a made-up baseline is made of."""


def make_lock(*requires: str) -> BaselineLock:
    return BaselineLock(
        package="waves",
        version="0.5",
        wheel="waves-0.5-py3-none-any.whl",
        wheel_sha256="0" * 64,
        entries={"my_op": LockedEntry(entry="waves.ops:my_op")},
        files=tuple(seal(path, data) for path, data in SNAPSHOT.items()),
        requires=requires,
    ).sealed()


def make_task(folder: Path, *requires: str, name: str = "own/waves") -> Path:
    """The folder of a task with a baseline out of a wheel, called upstream."""
    new_task(folder, name)
    with (folder / "task.toml").open("a") as file:
        file.write('[[baselines]]\nkind = "wheel"\nname = "upstream"\npath = "baselines/up"\n')
    baseline = folder / "baselines/up"
    for path, data in SNAPSHOT.items():
        (baseline / "snapshot" / path).parent.mkdir(parents=True, exist_ok=True)
        (baseline / "snapshot" / path).write_bytes(data)
    text = json.dumps(make_lock(*requires).content(), indent=1)
    (baseline / "baseline.lock").write_text(text + "\n")
    (baseline / "adapter.py").write_text("from waves.ops import my_op\n")
    return folder


def carry(folder: Path, *requires: str, with_files: bool = True) -> CarriedTask:
    """A task of make_task as whoever loads it hands it over."""
    task = load_task(folder)
    files = SNAPSHOT if with_files else None
    baseline = CarriedBaseline("upstream", "baselines/up", make_lock(*requires), files)
    return CarriedTask(task.task.name, folder, task.content_hash, (baseline,))


def make_pack(folder: Path, wheels: Path | None, **options: Any) -> Packed:
    """A pack for this very Python, of a wheel called tiny and our own package."""
    settings: dict[str, Any] = {
        "python": PYTHON,
        "platforms": [PLATFORM],
        "assume": OURS,
        "without": ["nvidia-ml-py"],
        "more": ["tiny"],
        "wheels": wheels,
    }
    return pack(folder, **(settings | options))


def arrive(
    pack_folder: Path, *arguments: str, cwd: Path, python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    """Run a pack as a host would: a clean environment, from a folder elsewhere."""
    return subprocess.run(
        [str(pack_folder / "run"), *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={"PATH": os.defpath, "PYTHON": python},
        check=False,
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Every file by its path in the folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
