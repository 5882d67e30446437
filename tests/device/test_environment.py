from __future__ import annotations

import os
import platform
from pathlib import Path

import assay
from assay.device.environment import SUFFIXES
from assay.device.environment import environment
from assay.device.environment import harness_hash
from assay.device.environment import host_digest
from assay.device.environment import sources_hash


def test_the_environment_is_this_process() -> None:
    found = environment()
    assert found.python == platform.python_version()
    assert found.assay == assay.__version__
    assert found.cores == len(os.sched_getaffinity(0))
    assert found.packages["pydantic"].startswith("2.")
    assert environment() == found


def test_a_host_is_told_apart_but_not_named() -> None:
    digest = host_digest()
    assert len(digest) == 13
    assert platform.node() not in digest


def test_a_hash_of_sources_covers_every_language_and_nothing_that_is_written_later(
    tmp_path: Path,
) -> None:
    seen = {sources_hash(tmp_path)}
    names = ("a.py", "attack.toml", "a.cu", "a.cpp", "a.cuh", "a.h", "rows.json", "deep/er/a.py")
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        seen.add(sources_hash(tmp_path))
    (tmp_path / "a.cu").write_bytes(b"y")
    seen.add(sources_hash(tmp_path))
    (tmp_path / "a.cu").rename(tmp_path / "b.cu")
    seen.add(sources_hash(tmp_path))
    assert len(seen) == len(names) + 3
    for name in ("__pycache__/a.py", "evidence/admission.json", "a.pyc", "a.so", "a.cu~"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    (tmp_path / "folder.py").mkdir()
    assert sources_hash(tmp_path) in seen


def test_a_hash_of_sources_is_of_names_and_bytes_alone(tmp_path: Path) -> None:
    for place, names in (("one", ("b.cu", "a/c.toml")), ("two", ("a/c.toml", "b.cu"))):
        for name in names:
            (tmp_path / place / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / place / name).write_text(name)
    first = sources_hash(tmp_path / "one")
    assert first == sources_hash(tmp_path / "two")
    assert first == "4a24f3a2f19ed910be1cee78393b6501d0348a8513d106c86f3279caf3e74a32"


def test_no_attack_is_in_a_language_that_the_hash_leaves_out() -> None:
    root = Path(assay.__file__).parent / "redteam"
    files = [path for path in root.rglob("*") if path.is_file() and "evidence" not in path.parts]
    suffixes = {path.suffix for path in files} - {".pyc"}
    assert {".py", ".toml", ".cpp", ".cu"} <= suffixes <= SUFFIXES


def test_the_harness_hash_covers_every_source_of_the_package() -> None:
    assert len(harness_hash()) == 64
    target = Path(assay.__file__).parent / "_probe_of_the_hash.py"
    before = harness_hash()
    try:
        target.write_text("x = 1\n")
        harness_hash.cache_clear()
        assert harness_hash() != before
    finally:
        target.unlink()
        harness_hash.cache_clear()
    assert harness_hash() == before
