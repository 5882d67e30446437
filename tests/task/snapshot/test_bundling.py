"""What of a baseline out of a wheel is frozen and bundled: all that is ours, and the lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.judge.bundle import BASELINE
from assay.judge.bundle_sources import SourceReading
from assay.judge.bundle_sources import _read_solution
from assay.task import load_baseline
from assay.task import load_task
from assay.task.bundle import _own
from assay.task.freeze import defining_files
from assay.task.load import LoadedSolution


@pytest.fixture
def loaded(pinned: Path) -> LoadedSolution:
    return load_baseline(load_task(pinned.parents[1]), "upstream")


def entries_of(loaded: LoadedSolution) -> dict[str, bytes]:
    document = (loaded.folder / "solution.toml").read_bytes()
    own = {f"{BASELINE}/{path}": data for path, data in _own(loaded).items()}
    return {f"{BASELINE}/solution.toml": document, **own}


def problems(entries: dict[str, bytes], loaded: LoadedSolution) -> SourceReading:
    reading = SourceReading()
    _read_solution(entries, BASELINE, loaded.content_hash, reading)
    return reading


def test_a_bundle_has_no_file_of_the_wheel_and_is_held_against_its_hash(
    loaded: LoadedSolution,
) -> None:
    entries = entries_of(loaded)
    names = {path.removeprefix(f"{BASELINE}/") for path in entries}
    assert names == {"solution.toml", "adapter.py", "baseline.lock", "shims/tiny/__init__.py"}
    reading = problems(entries, loaded)
    assert reading.problems == []
    assert reading.used == set(entries)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("shims/tiny/__init__.py", "shims/tiny/__init__.py: not the file that the lock names"),
        ("adapter.py", "baseline: not the solution "),
        ("baseline.lock", "baseline/baseline.lock: "),
    ],
)
def test_what_was_changed_in_a_bundle_is_named(
    loaded: LoadedSolution, path: str, line: str
) -> None:
    entries = entries_of(loaded)
    entries[f"{BASELINE}/{path}"] += b"\n#"
    assert any(line in problem for problem in problems(entries, loaded).problems)


def test_a_missing_shim_is_named(loaded: LoadedSolution) -> None:
    entries = entries_of(loaded)
    del entries[f"{BASELINE}/shims/tiny/__init__.py"]
    assert problems(entries, loaded).problems == ["baseline/shims/tiny/__init__.py: missing"]


def test_frozen_is_what_is_ours_and_the_lock(pinned: Path) -> None:
    task = load_task(pinned.parents[1])
    names = {file.path for file in defining_files(task.path, task.task)}
    ours = {name for name in names if name.startswith("baselines/upstream/")}
    assert ours == {
        f"baselines/upstream/{name}"
        for name in ("adapter.py", "solution.toml", "baseline.lock", "shims/tiny/__init__.py")
    }
