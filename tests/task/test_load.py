from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.spec.errors import UsageError
from assay.spec.noun import sha256_hex
from assay.task import find_solution
from assay.task import load_baseline
from assay.task import load_solution
from assay.task import load_task
from assay.task.files import LARGEST_SOURCE


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def complaint(address: Path | str) -> str:
    with pytest.raises(UsageError) as caught:
        load_task(address)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def solution_complaint(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load_solution(folder / "solutions/candidate", load_task(folder).task)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_shipped_task_is_found_by_its_address_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_task("cpu/rms_norm").task.name == "cpu/rms_norm"


def test_a_project_keeps_its_tasks_under_tasks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / "tasks").mkdir()
    folder.rename(folder.parent / "tasks/silu")
    monkeypatch.chdir(folder.parent)
    assert load_task("silu").task.name == load_task("./tasks/silu").task.name == "own/silu"


def test_a_shipped_name_is_not_shadowed_by_a_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / "cpu").mkdir()
    folder.rename(folder.parent / "cpu/rms_norm")
    monkeypatch.chdir(folder.parent)
    assert load_task("cpu/rms_norm").task.name == "cpu/rms_norm"
    assert load_task("./cpu/rms_norm").task.name == "own/silu"
    assert load_task(Path("cpu/rms_norm")).task.name == "own/silu"


def test_the_hash_is_of_the_bytes_of_all_three_files(folder: Path) -> None:
    before = load_task(folder)
    assert [file.path for file in before.files] == ["task.toml", "workloads.json", "reference.py"]
    assert before.reference_hash == sha256_hex((folder / "reference.py").read_bytes())
    for name in ("task.toml", "workloads.json", "reference.py"):
        kept = (folder / name).read_bytes()
        (folder / name).write_bytes(kept + b"\n")
        assert load_task(folder).content_hash != before.content_hash
        (folder / name).write_bytes(kept)
    assert load_task(folder).content_hash == before.content_hash


def test_an_unknown_address_names_the_closest_ones() -> None:
    assert complaint("cpu/rms_nrm").startswith(
        "cpu/rms_nrm: no such task (did you mean cpu/rms_norm"
    )
    assert "there are cpu/group_norm_silu, cpu/layer_norm" in complaint("zzz")


@pytest.mark.parametrize("address", ["", "..", "../cpu/rms_norm", "cpu/../cpu/rms_nor", "\x1b"])
def test_an_odd_address_is_one_line(address: str) -> None:
    assert "\x1b" not in complaint(address)


def test_a_folder_without_a_task_and_a_file_are_named_as_such(tmp_path: Path) -> None:
    assert "the folder has no task.toml" in complaint(tmp_path)
    (tmp_path / "file").touch()
    assert "not a folder" in complaint(tmp_path / "file")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("task.toml", "assay.task.1", "assay.task.9", 'schema is "assay.task.9"'),
        ("task.toml", "summary", "sumary", "key summary: Field required (and 1 more)"),
        ("task.toml", "[[functions]]", "[[functions]", "not TOML"),
        ("task.toml", "primary = true", "primary = false", "exactly one baseline is primary"),
        ("workloads.json", "{", "", "not JSON"),
        ("workloads.json", "[256, 1024]", "[256, 5000]", "has width=5000, outside the domain"),
        ("workloads.json", '"function": "silu"', '"function": "gelu"', "no function of this task"),
        ("reference.py", "def silu", "def gelu", "defines no function silu"),
        ("reference.py", "def silu(", "def silu((", "not Python"),
        ("reference.py", "import", "\0import", "not Python"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_file(
    folder: Path, file: str, old: str, new: str, message: str
) -> None:
    edit(folder / file, old, new)
    line = complaint(folder)
    assert message in line
    assert file in line


@pytest.mark.parametrize("file", ["workloads.json", "reference.py"])
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    assert complaint(folder) == f"{folder / file}: there is no such file"


def test_bytes_that_are_no_text_are_refused(folder: Path) -> None:
    (folder / "reference.py").write_bytes(b"def silu\xff")
    assert "not UTF-8 at byte 8" in complaint(folder)


def test_a_reference_is_parsed_and_never_run(folder: Path) -> None:
    mark = folder / "ran"
    with (folder / "reference.py").open("a") as file:
        file.write(f"\nopen({str(mark)!r}, 'w')\n")
    load_task(folder)
    assert not mark.exists()


def test_sources_are_held_as_they_were_read(folder: Path) -> None:
    loaded = find_solution(load_task(folder), "candidate")
    source = folder / "solutions/candidate/silu.py"
    before = source.read_bytes()
    source.write_text("changed")
    assert loaded.sources == {"silu.py": before}
    assert loaded.sealed.files[0].sha256 == sha256_hex(before)
    assert loaded.content_hash == loaded.sealed.content_hash
    again = find_solution(load_task(folder), "candidate")
    assert again.content_hash != loaded.content_hash


def test_a_solution_is_found_by_name_by_baseline_and_by_path(folder: Path) -> None:
    task = load_task(folder)
    assert task.solution_names == ("candidate",)
    assert find_solution(task, "candidate").solution.name == "candidate"
    assert find_solution(task, "naive").solution.name == "naive"
    by_path = find_solution(task, folder / "baselines/naive")
    assert by_path.sealed == load_baseline(task).sealed == load_baseline(task, "naive").sealed


def test_an_unknown_solution_or_baseline_names_those_there_are(folder: Path) -> None:
    task = load_task(folder)
    with pytest.raises(UsageError, match=r"own/silu: candidat2: no such solution.*candidate"):
        find_solution(task, "candidat2")
    with pytest.raises(UsageError, match=r"own/silu: fast: no such baseline \(there are naive\)"):
        load_baseline(task, "fast")


def test_a_reference_baseline_has_no_sources(folder: Path) -> None:
    with (folder / "task.toml").open("a") as file:
        file.write('\n[[baselines]]\nkind = "reference"\nname = "slow"\n')
    with pytest.raises(UsageError, match="a reference baseline has no sources of its own"):
        load_baseline(load_task(folder), "slow")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('language = "torch"', 'language = "cpp"', "entry silu.py is not .cpp or .cc or .cxx"),
        ('sources = ["silu.py"]', 'sources = ["silu.py", "b.py"]', "b.py: there is no such file"),
        ('sources = ["silu.py"]', 'sources = ["../silu.py"]', "sources.0"),
        ('name = "candidate"', 'name = "candidate"\nprepare = "p"', "does not allow"),
        ('name = "candidate"', 'name = "candidate"\nconvention = "in_place"', "no argument"),
        ('name = "candidate"', 'name = "candidate"\nconfig = { a = 1 }', "declared search space"),
    ],
)
def test_a_solution_that_does_not_fit_is_one_line(
    folder: Path, old: str, new: str, message: str
) -> None:
    edit(folder / "solutions/candidate/solution.toml", old, new)
    assert message in solution_complaint(folder)


def test_another_language_than_the_task_asks_for_is_refused(folder: Path) -> None:
    edit(folder / "task.toml", "summary", 'language = "cpp"\nsummary')
    assert "written in torch, but the task asks for cpp" in solution_complaint(folder)


def test_a_link_inside_the_folder_is_followed_and_one_out_of_it_is_not(folder: Path) -> None:
    source = folder / "solutions/candidate/silu.py"
    source.rename(source.with_name("real.py"))
    source.symlink_to("real.py")
    assert find_solution(load_task(folder), "candidate").sources["silu.py"].startswith(b'"""')
    source.unlink()
    source.symlink_to(folder / "reference.py")
    assert "a link that leaves its folder" in solution_complaint(folder)
    source.unlink()
    source.symlink_to(source)
    assert "cannot be read" in solution_complaint(folder)


def test_a_named_pipe_and_a_folder_are_no_sources(folder: Path) -> None:
    source = folder / "solutions/candidate/silu.py"
    source.unlink()
    os.mkfifo(source)
    assert "not a plain file" in solution_complaint(folder)
    source.unlink()
    source.mkdir()
    assert "silu.py" in solution_complaint(folder)


def test_sources_are_bounded_one_by_one_and_together(folder: Path) -> None:
    place = folder / "solutions/candidate"
    (place / "silu.py").write_bytes(b"#" * (LARGEST_SOURCE + 1))
    assert f"larger than {LARGEST_SOURCE} bytes" in solution_complaint(folder)
    edit(place / "solution.toml", '["silu.py"]', '["silu.py", "more.py"]')
    (place / "silu.py").write_bytes(b"#" * LARGEST_SOURCE)
    (place / "more.py").write_bytes(b"#")
    assert "all sources together" in solution_complaint(folder)


def test_an_unreadable_file_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("assay.task.files.os.open", refuse)
    assert "task.toml: cannot be read: Permission denied" in complaint(folder)
