from __future__ import annotations

from pathlib import Path

import pytest

from assay.pack.verify import verify
from assay.spec.errors import UsageError


def test_a_pack_as_it_was_made_has_no_problems(copy: Path) -> None:
    report = verify(copy)
    assert report.problems == ()
    assert report.files > 100


def test_what_was_changed_is_missing_or_was_added_is_named(copy: Path) -> None:
    changed = copy / "extra/site-packages/tiny.py"
    changed.write_bytes(changed.read_bytes().replace(b"1.0", b"1.1"))
    (copy / "tasks/own/my_op/task.toml").write_text("")
    (copy / "extra/site-packages/smaller.py").unlink()
    (copy / "site/numpy.py").write_text("")
    problems = verify(copy).problems
    assert len(problems) == 4
    assert "extra/site-packages/smaller.py: No such file or directory" in problems
    assert "extra/site-packages/tiny.py: not the bytes that were packed" in problems
    assert problems[2].startswith("tasks/own/my_op/task.toml: 0 bytes, and ")
    assert problems[3] == "site/numpy.py: not in the manifest"


def test_evidence_and_what_python_compiles_are_no_problems(copy: Path) -> None:
    for name in ("evidence/ledger/x.jsonl", "extra/__pycache__/tiny.pyc"):
        (copy / name).parent.mkdir(parents=True)
        (copy / name).write_bytes(b"")
    assert verify(copy).problems == ()


def test_a_folder_without_a_manifest_is_no_pack(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no pack: there is no manifest"):
        verify(tmp_path)
