from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.pack.entry import folder_entries
from assay.spec.errors import UsageError


def packed(folder: Path) -> dict[str, tuple[bytes, bool]]:
    entries = folder_entries(folder, "tasks/own/x", "task own/x")
    return {entry.path: (entry.read(), entry.executable) for entry in entries}


def test_hidden_files_and_compiled_python_stay_behind(tmp_path: Path) -> None:
    for name in (".git/config", "a/__pycache__/b.pyc", "a/b.py", "c.pyc", ".hidden", "tool"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "tool").chmod(0o755)
    assert packed(tmp_path) == {
        "tasks/own/x/a/b.py": (b"a/b.py", False),
        "tasks/own/x/tool": (b"tool", True),
    }


def test_a_link_inside_becomes_a_file_and_one_that_leaves_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "one.py").write_text("1\n")
    (folder / "two.py").symlink_to("one.py")
    assert packed(folder)["tasks/own/x/two.py"] == (b"1\n", False)
    (tmp_path / "secret").write_text("")
    (folder / "three.py").symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match=r"three\.py: a link that leaves its folder"):
        packed(folder)


@pytest.mark.parametrize("target", ["nowhere", "loop"])
def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "loop").symlink_to(target)
    with pytest.raises(UsageError, match="loop: cannot be read"):
        packed(tmp_path)


def test_a_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UsageError, match="b: a link to a folder"):
        packed(tmp_path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="pipe: not a plain file"):
        packed(tmp_path)


def test_a_name_that_could_upset_a_terminal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m").write_text("")
    with pytest.raises(UsageError, match="a plain path inside the pack"):
        packed(tmp_path)
