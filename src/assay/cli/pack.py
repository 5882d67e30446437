"""`assay pack`: a folder that runs on a host without network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer

from assay.cli._options import AsJson
from assay.cli._progress import progress_bar
from assay.cli._table import print_json
from assay.cli._table import print_table
from assay.judge.sitting import Progress
from assay.pack.size import DEFAULT_MOST_BYTES
from assay.pack.size import mebibytes
from assay.pack.target import DEFAULT_PLATFORM
from assay.pack.target import DEFAULT_PYTHON
from assay.pack.verify import verify as verify_pack
from assay.spec.baseline import WheelBaseline
from assay.spec.errors import ExitStatus
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task import load_task
from assay.task.load import TaskFolder
from assay.task.snapshot.stored import read_lock
from assay.task.snapshot.stored import read_snapshot

if TYPE_CHECKING:
    from assay.pack.carried import CarriedTask
    from assay.pack.make import Packed
    from assay.pack.manifest import Manifest
    from assay.pack.manifest import PackedBaseline

_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?) ?(KiB|MiB|GiB)")
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def pack(
    destination: Annotated[
        Path, typer.Argument(metavar="DEST", help="A new folder, or a pack to make again.")
    ],
    task: Annotated[
        list[str] | None,
        typer.Option(help="A task to carry, an address or a folder; may be repeated."),
    ] = None,
    python: Annotated[str, typer.Option(help="The host's Python.")] = DEFAULT_PYTHON,
    platform: Annotated[
        list[str] | None,
        typer.Option(help=f"The host's platform; {DEFAULT_PLATFORM} when left out."),
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(help="A package that the host has, as torch, triton and numpy."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="A package that the host can do without.")
    ] = None,
    more: Annotated[
        list[str] | None, typer.Option("--with", help="A requirement beside our own.")
    ] = None,
    wheels: Annotated[
        Path | None, typer.Option(help="Take wheels from this folder, not from the network.")
    ] = None,
    without_baselines: Annotated[
        bool, typer.Option("--without-baselines", help="Leave snapshots behind.")
    ] = False,
    most: Annotated[
        str, typer.Option(help="The most that it may take.")
    ] = f"{DEFAULT_MOST_BYTES >> 20}MiB",
    archive: Annotated[bool, typer.Option("--archive", help="Write DEST.tar.xz too.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Make nothing; check the pack that is there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a folder that runs on a host without network, under its own python and torch."""
    if verify:
        _verify(destination, as_json)
        return
    # Late: where a pack is only verified, what it is made with may be missing.
    from assay.pack.make import STEPS
    from assay.pack.make import pack as make_pack

    carried = [_carried(load_task(name), with_files=not without_baselines) for name in task or ()]
    with progress_bar(as_json) as show:
        packed = make_pack(
            destination,
            python=python,
            platforms=platform or [DEFAULT_PLATFORM],
            tasks=carried,
            assume=assume or (),
            without=without or (),
            more=more or (),
            wheels=wheels,
            most_bytes=read_size(most),
            archive=archive,
            report=lambda step: show(Progress(STEPS.index(step), len(STEPS), step)),
        )
    if as_json:
        print_json(packed.content() | {"manifest": packed.manifest.content()})
    else:
        _show(packed)


def _carried(task: TaskFolder, *, with_files: bool) -> CarriedTask:
    """The task with its baselines out of wheels, whose files are read and checked here."""
    from assay.pack.carried import CarriedBaseline
    from assay.pack.carried import CarriedTask

    baselines = []
    for baseline in task.task.baselines:
        if isinstance(baseline, WheelBaseline):
            folder = task.path / baseline.path
            lock = read_lock(folder)
            step = f"assay task snapshot {quote(task.task.name)}, or pack --without-baselines"
            files = read_snapshot(folder, lock, step) if with_files else None
            baselines.append(CarriedBaseline(baseline.name, baseline.path, lock, files))
    return CarriedTask(task.task.name, task.path, task.content_hash, tuple(baselines))


def read_size(text: str) -> int:
    """`64MiB` in bytes; a unit has to be there."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"{quote(text)} is no size", where="--most", next_step="write 64MiB")
    return int(float(match[1]) * _UNITS[match[2]])


def _show(packed: Packed) -> None:
    manifest = packed.manifest
    print_table(
        ("part", "files", "KiB"),
        ((part.name, part.files, -(-part.bytes // 1024)) for part in packed.parts),
    )
    print(
        f"{quote(packed.path)}: {mebibytes(packed.bytes)} of {mebibytes(packed.most_bytes)}, for "
        f"Python {manifest.python} on {', '.join(manifest.platforms)}"
    )
    if manifest.compressed:
        each = (f"{a.wheel} to {mebibytes(a.unpacked_bytes)}" for a in manifest.compressed)
        print(f"unpacked when it first runs there: {', '.join(each)}")
    for task in manifest.tasks:
        print(f"task {task.name} in {task.path}")
    for baseline in manifest.baselines:
        print(f"baseline {baseline.task}/{baseline.baseline} {_state(baseline)}")
    _show_notice(manifest)
    needed = ", ".join(_host_words(p.name, p.least) for p in manifest.assumed if p.needed)
    print(f"the host brings {needed or 'nothing'}")
    if packed.archive is not None and packed.archive_bytes is not None:
        print(f"{quote(packed.archive)}: {mebibytes(packed.archive_bytes)}")


def _state(baseline: PackedBaseline) -> str:
    """Of which release it is, and what it will lack there."""
    release = f"of {baseline.package} {baseline.version}"
    if not baseline.carried:
        return f"{release}: left behind"
    lacks = [f"without {', '.join(baseline.lacks)}, so it cannot run"] if baseline.lacks else []
    return "; ".join([release, *lacks, *baseline.differs])


def _show_notice(manifest: Manifest) -> None:
    held = ", ".join(f"{wheel.name} ({wheel.restricted})" for wheel in manifest.restricted)
    if held:
        print(f"for hosts of your own, not for redistribution: it holds {held}")


def _host_words(name: str, least: str | None) -> str:
    return name if least is None else f"{name} {least} or newer"


def _verify(folder: Path, as_json: bool) -> None:
    report = verify_pack(folder)
    if as_json:
        print_json(report.content() | {"ok": report.ok})
    else:
        for problem in report.problems:
            print(f"problem {problem}")
        print(f"{report.files} files, {mebibytes(report.bytes)}, {len(report.problems)} problems")
    if not report.ok:
        raise typer.Exit(ExitStatus.NO)
