"""The archive of a pack: one file to carry, of which equal packs give equal bytes."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

_PLAIN, _EXECUTABLE = 0o644, 0o755


def write_archive(folder: Path, name: str, file: Path) -> None:
    """Write the folder as `name` into a tar.xz: sorted, owned by nobody, without times."""
    with tarfile.open(file, "x:xz", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = tarfile.TarInfo(f"{name}/{path.relative_to(folder).as_posix()}")
            info.size = path.stat().st_size
            info.mode = _EXECUTABLE if os.access(path, os.X_OK) else _PLAIN
            with path.open("rb") as opened:
                archive.addfile(info, opened)
