"""Packing: choose wheels, gather files, keep to the limit, write, put in place."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import assay
from assay.device.environment import harness_hash
from assay.pack.archive import write_archive
from assay.pack.cargo import FRAME
from assay.pack.cargo import Cargo
from assay.pack.cargo import load
from assay.pack.carried import CarriedTask
from assay.pack.choose import choose_wheels
from assay.pack.client import Client
from assay.pack.compress import COMPRESS_FROM
from assay.pack.entry import Entry
from assay.pack.entry import text_entry
from assay.pack.manifest import MANIFEST
from assay.pack.manifest import Manifest
from assay.pack.manifest import PackedFile
from assay.pack.manifest import Part
from assay.pack.place import NEW
from assay.pack.place import NEW_ARCHIVE
from assay.pack.place import archive_path
from assay.pack.place import build_beside
from assay.pack.place import check_place
from assay.pack.place import put_in_place
from assay.pack.size import DEFAULT_MOST_BYTES
from assay.pack.size import check_size
from assay.pack.size import measure
from assay.pack.target import DEFAULT_PLATFORM
from assay.pack.target import DEFAULT_PYTHON
from assay.pack.target import Target
from assay.pack.wheel import Wheel
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.spec.noun import Count
from assay.spec.noun import Noun
from assay.spec.noun import sha256_hex

STEPS = CHOOSING, COMPRESSING, WRITING = "choosing wheels", "compressing", "writing"


class Packed(Noun):
    """What was written, and how much each part of it takes, the largest first."""

    path: str
    bytes: Count
    """Of all files, the manifest among them."""
    most_bytes: Count
    parts: tuple[Part, ...]
    archive: str | None
    archive_bytes: Count | None
    manifest: Manifest


def pack(
    destination: Path,
    *,
    python: str = DEFAULT_PYTHON,
    platforms: Sequence[str] = (DEFAULT_PLATFORM,),
    tasks: Sequence[CarriedTask] = (),
    assume: Sequence[str] = (),
    without: Sequence[str] = (),
    more: Sequence[str] = (),
    wheels: Path | None = None,
    most_bytes: int = DEFAULT_MOST_BYTES,
    compress_from: int = COMPRESS_FROM,
    archive: bool = False,
    report: Callable[[str], None] = lambda step: None,
) -> Packed:
    """Write a folder that runs on the target without network; all of it, or nothing.

    `assume` names distributions that the host has, `without` those that it can do without, and
    `more` is required beside our own. Wheels come from the folder `wheels`, or by way of pip;
    from `compress_from` bytes upward they travel compressed.
    """
    target = Target.of(python, platforms)
    destination = destination.resolve()
    check_place(destination, archive=archive)
    if wheels is not None and not wheels.is_dir():
        raise UsageError("not a folder", where=quote(wheels))
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-pack-")))
        client = Client(target, wheels, scratch)
        report(CHOOSING)
        chosen = choose_wheels(client, tasks, assume=assume, without=without, more=more)
        opened = [stack.enter_context(Wheel(choice.path)) for choice in chosen.choices]
        cargo = load(opened, tasks, chosen, compress_from)
        check_size(measure(cargo.entries), most_bytes)
        report(COMPRESSING)
        cargo = cargo.compress(scratch)
        check_size(measure(cargo.entries), most_bytes)
        report(WRITING)
        holder = stack.enter_context(build_beside(destination))
        manifest, parts = _build(cargo, target, holder / NEW)
        check_size(parts, most_bytes)
        archive_bytes = _archive(holder, destination.name) if archive else None
        put_in_place(holder, destination)
    return Packed(
        path=str(destination),
        bytes=sum(part.bytes for part in parts),
        most_bytes=most_bytes,
        parts=parts,
        archive=str(archive_path(destination)) if archive else None,
        archive_bytes=archive_bytes,
        manifest=manifest,
    )


def _build(cargo: Cargo, target: Target, folder: Path) -> tuple[Manifest, tuple[Part, ...]]:
    """Write the cargo, then the manifest of what was written."""
    files = _write(cargo.entries, folder)
    manifest = Manifest(
        assay=assay.__version__,
        harness_hash=harness_hash(),
        python=target.python,
        platforms=target.platforms,
        assumed=cargo.host,
        paths=cargo.paths,
        wheels=cargo.wheels,
        compressed=cargo.compressed,
        tasks=cargo.tasks,
        baselines=cargo.baselines,
        parts=measure(cargo.entries),
        bytes=sum(file.bytes for file in files),
        files=files,
    )
    last = text_entry(MANIFEST, FRAME, json.dumps(manifest.content(), indent=1) + "\n")
    _write([last], folder)
    return manifest, measure([*cargo.entries, last])


def _write(entries: Iterable[Entry], folder: Path) -> tuple[PackedFile, ...]:
    """Write the entries, each hashed as it was written."""
    files = []
    for entry in entries:
        path = folder / entry.path
        path.parent.mkdir(parents=True, exist_ok=True)
        data = entry.read()
        path.write_bytes(data)
        if entry.executable:
            path.chmod(0o755)
        files.append(PackedFile(path=entry.path, sha256=sha256_hex(data), bytes=len(data)))
    return tuple(files)


def _archive(holder: Path, name: str) -> int:
    """Write the archive of what was built beside it; returns its size."""
    write_archive(holder / NEW, name, holder / NEW_ARCHIVE)
    return (holder / NEW_ARCHIVE).stat().st_size
