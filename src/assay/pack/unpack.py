"""Unpacks what a pack holds compressed, once, and prints what Python is to import from.

It runs as a script, after `arrival` has found the host fit, and imports nothing of ours: what it
unpacks may be what we need. Every file is checked by hash before any goes to its place.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import lzma
import os
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Any

_UNAVAILABLE = 69
_AGAIN = "copy the pack again"


class UnpackError(Exception):
    """One line on why, and what to do."""


def unpack(pack: Path, archive: Any, sha256: str) -> bool:
    """Put an archive's files into their places, unless they are there; whether it did so.

    Whoever comes second waits for the first, and finds the mark that it has left.
    """
    path = pack / archive["path"]
    mark = path.with_name(path.name.removesuffix(".tar.xz") + ".unpacked")
    if _marked(mark, sha256):
        return False
    with path.open("r+b") as file:  # open for writing: some network file systems lock no other
        fcntl.flock(file, fcntl.LOCK_EX)
        if _marked(mark, sha256):
            return False
        if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            raise UnpackError(f"{archive['path']} is not what was packed ({_AGAIN})")
        file.seek(0)
        partial = path.with_name(path.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)  # of one that was ended halfway
        try:
            _extract(file, archive, partial)
            for name in (each["path"] for each in archive["files"]):
                (pack / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(partial / name, pack / name)
            (partial / "mark").write_text(sha256 + "\n")
            os.replace(partial / "mark", mark)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return True


def _marked(mark: Path, sha256: str) -> bool:
    """Whether these very bytes were unpacked: a pack may be copied over an older one."""
    return mark.is_file() and mark.read_text().strip() == sha256


def _extract(file: Any, archive: Any, folder: Path) -> None:
    """Write the files that the manifest names below the folder, each as it was packed."""
    wanted = {each["path"]: each["sha256"] for each in archive["files"]}
    folder.mkdir()
    with tarfile.open(fileobj=file, mode="r:xz") as members:
        for member in members:
            expected = wanted.pop(member.name, None)
            content = members.extractfile(member) if member.isreg() else None
            if expected is None or content is None:
                raise UnpackError(f"{archive['path']} holds what the manifest does not name")
            target = folder / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as written:
                shutil.copyfileobj(content, written, 1 << 20)
            target.chmod(0o755 if member.mode & 0o100 else 0o644)
            with target.open("rb") as written:
                if hashlib.file_digest(written, "sha256").hexdigest() != expected:
                    raise UnpackError(f"{member.name} is not what was packed ({_AGAIN})")
    if wanted:
        raise UnpackError(f"{archive['path']} lacks {min(wanted)} ({_AGAIN})")


def unpack_all(pack: Path, manifest: Any) -> None:
    hashes = {file["path"]: file["sha256"] for file in manifest["files"]}
    for archive in manifest["compressed"]:
        try:
            unpack(pack, archive, hashes[archive["path"]])
        except OSError as error:
            raise UnpackError(
                f"cannot unpack {archive['wheel']} into the pack: {error.strerror or error} "
                "(copy the pack to where you may write)"
            ) from None
        except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
            raise UnpackError(f"{archive['path']}: {error} ({_AGAIN})") from None


def main() -> int:
    pack = Path(sys.argv[1])
    manifest = json.loads((pack / "manifest.json").read_text(encoding="utf-8"))
    try:
        unpack_all(pack, manifest)
    except UnpackError as problem:
        print(f"assay: {problem}", file=sys.stderr)
        return _UNAVAILABLE
    print(os.pathsep.join(str(pack / path) for path in manifest["paths"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
