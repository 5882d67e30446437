from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from assay.spec.errors import AssayError
from assay.spec.errors import quote
from assay.spec.noun import sha256_hex
from assay.task import find_solution
from assay.task import load_baseline
from assay.task import load_solution
from assay.task import load_task
from assay.task.load import LoadedSolution
from tests.task.snapshot.making import CLOSURE
from tests.task.snapshot.making import FILES


def load(place: Path) -> LoadedSolution:
    return load_baseline(load_task(place.parents[1]), "upstream")


def complaint(place: Path) -> str:
    with pytest.raises(AssayError) as caught:
        load(place)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_sources_are_the_adapter_the_wheels_files_the_shims_and_the_lock(pinned: Path) -> None:
    loaded = load(pinned)
    assert loaded.lock is not None
    assert loaded.lock.version == "1.0"
    assert set(loaded.sources) == {"adapter.py", "tiny/__init__.py", "baseline.lock", *CLOSURE}
    assert loaded.sources["tiny/ops/act.py"] == FILES["tiny/ops/act.py"].encode()
    assert loaded.sources["tiny/__init__.py"] == b'"""No server."""\n'
    assert loaded.sources["baseline.lock"] == loaded.lock.canonical()


def test_the_seal_covers_the_adapter_and_by_the_lock_every_file(pinned: Path) -> None:
    loaded = load(pinned)
    assert [file.path for file in loaded.sealed.files] == ["adapter.py", "baseline.lock"]
    assert loaded.sealed.files[1].sha256 == sha256_hex(loaded.sources["baseline.lock"])
    named = {file.path: file.sha256 for file in loaded.lock.files} if loaded.lock else {}
    assert named["tiny/ops/act.py"] == sha256_hex(loaded.sources["tiny/ops/act.py"])


def test_how_the_lock_is_laid_out_does_not_matter_and_what_it_says_does(pinned: Path) -> None:
    before = load(pinned).content_hash
    path = pinned / "baseline.lock"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content))
    assert load(pinned).content_hash == before
    path.write_text(json.dumps(content | {"environment": {"A": "b"}}))
    assert load(pinned).content_hash != before


def test_it_is_found_by_name_and_by_path(pinned: Path) -> None:
    task = load_task(pinned.parents[1])
    assert find_solution(task, "upstream").sealed == load(pinned).sealed
    assert find_solution(task, pinned).lock == load(pinned).lock


def test_a_lock_that_the_task_does_not_name_is_not_followed(pinned: Path) -> None:
    task = pinned.parents[1]
    shutil.copytree(pinned, task / "solutions/mine")
    loaded = find_solution(load_task(task), "mine")
    assert loaded.lock is None
    assert set(loaded.sources) == {"adapter.py"}
    assert load_solution(pinned).lock is None


def test_one_byte_that_differs_is_refused(pinned: Path) -> None:
    path = pinned / "snapshot/tiny/ops/act.py"
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(bytes(data))
    line = complaint(pinned)
    said = f"not the file that the lock names: {len(data)} bytes with hash"
    assert line.startswith(f"{quote(path)}: {said}")
    assert line.endswith("(assay task snapshot own/silu)")
    path.write_bytes(bytes(data) + b"\n")
    assert f"{len(data) + 1} bytes" in complaint(pinned)


def test_a_shim_that_differs_is_refused(pinned: Path) -> None:
    path = pinned / "shims/tiny/__init__.py"
    path.write_text("NAME = 1\n")
    assert f"{quote(path)}: not the file that the lock names" in complaint(pinned)
    path.unlink()
    assert f"{quote(path)}: missing, and the lock names it" in complaint(pinned)


def test_a_missing_snapshot_or_file_says_what_to_do(pinned: Path) -> None:
    path = pinned / "snapshot/tiny/ops/late.py"
    path.unlink()
    assert complaint(pinned) == (
        f"{quote(path)}: missing, and the lock names it (assay task snapshot own/silu)"
    )
    shutil.rmtree(pinned / "snapshot")
    assert complaint(pinned) == (
        f"{quote(pinned / 'snapshot')}: the files of tiny 1.0 are not here "
        "(assay task snapshot own/silu)"
    )
    (pinned / "baseline.lock").unlink()
    assert complaint(pinned) == f"{quote(pinned / 'baseline.lock')}: there is no such file"


def test_a_link_out_of_the_snapshot_is_refused(pinned: Path, tmp_path: Path) -> None:
    path = pinned / "snapshot/tiny/ops/late.py"
    path.rename(tmp_path / "late.py")
    path.symlink_to(tmp_path / "late.py")
    assert "a link that leaves its folder" in complaint(pinned)


def test_a_source_in_the_place_of_a_locked_file_is_refused(pinned: Path) -> None:
    document = pinned / "solution.toml"
    document.write_text(
        document.read_text().replace('"adapter.py"]', '"adapter.py", "tiny/ops/act.py"]')
    )
    (pinned / "tiny/ops").mkdir(parents=True)
    (pinned / "tiny/ops/act.py").write_text("def silu(x): ...\n")
    assert "source tiny/ops/act.py is in the place of a locked file" in complaint(pinned)


def test_a_snapshot_is_bounded(pinned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.task.snapshot.stored.LARGEST_SNAPSHOT", 100)
    assert "all files together are" in complaint(pinned)
