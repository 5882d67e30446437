from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.device.environment import harness_hash
from assay.pack import make
from assay.pack.carried import CarriedTask
from assay.pack.make import Packed
from assay.pack.verify import read_manifest
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from assay.spec.noun import sha256_hex
from assay.task import load_task
from tests.pack.making import OTHER_PYTHON
from tests.pack.making import contents
from tests.pack.making import make_pack
from tests.pack.making import make_wheel

Made = tuple[Path, Packed]


def test_the_manifest_names_every_file_by_hash(made: Made) -> None:
    folder, packed = made
    found = contents(folder)
    del found["manifest.json"]
    manifest = read_manifest(folder)
    assert {file.path: file.sha256 for file in manifest.files} == {
        path: sha256_hex(data) for path, data in found.items()
    }
    assert manifest.bytes == sum(map(len, found.values()))
    assert manifest == packed.manifest
    assert manifest.harness_hash == harness_hash()


def test_the_size_is_that_of_all_files_and_of_all_parts(made: Made) -> None:
    folder, packed = made
    total = sum(map(len, contents(folder).values()))
    assert packed.bytes == sum(part.bytes for part in packed.parts) == total
    assert {part.name for part in packed.parts} == {
        f"assay {assay.__version__}",
        "launcher and manifest",
        "smaller 2.5",
        "task own/my_op",
        "tiny 1.0",
    }
    sizes = [part.bytes for part in packed.parts]
    assert sizes == sorted(sizes, reverse=True)


def test_wheels_of_wheels_travel_and_the_hosts_own_do_not(made: Made, wheels: Path) -> None:
    folder, packed = made
    assert [(w.name, w.version) for w in packed.manifest.wheels] == [
        ("smaller", "2.5"),
        ("tiny", "1.0"),
    ]
    for wheel in packed.manifest.wheels:
        assert wheel.sha256 == sha256_hex((wheels / wheel.file).read_bytes())
    assert not [path for path in (folder / "site").iterdir() if path.name.startswith("torch")]
    torch = next(p for p in packed.manifest.assumed if p.name == "torch")
    assert (torch.needed, torch.least) == (True, "2.9")


def test_our_package_travels_with_its_data_and_without_what_python_compiled(made: Made) -> None:
    site = made[0] / "site"
    package = Path(assay.__file__).parent
    shipped = "assay/tasks/cpu/rms_norm/task.toml"
    assert (site / shipped).read_bytes() == (package.parent / shipped).read_bytes()
    assert (site / "assay/include/assay.h").is_file()
    assert not list(made[0].rglob("__pycache__"))


def test_a_task_travels_with_its_snapshot(made: Made, carried: CarriedTask) -> None:
    folder, packed = made
    (task,) = packed.manifest.tasks
    assert (task.path, task.task_hash) == ("tasks/own/my_op", carried.task_hash)
    assert load_task(folder / task.path).content_hash == carried.task_hash
    assert (folder / task.path / "baselines/upstream/snapshot/kernels/norm.py").is_file()


def test_a_shipped_task_is_not_packed_twice(tmp_path: Path, wheels: Path) -> None:
    shipped = load_task("cpu/rms_norm")
    task = CarriedTask("cpu/rms_norm", shipped.path, shipped.content_hash)
    packed = make_pack(tmp_path / "p", wheels, tasks=[task])
    assert packed.manifest.tasks[0].path == "site/assay/tasks/cpu/rms_norm"
    assert (tmp_path / "p" / packed.manifest.tasks[0].path / "task.toml").is_file()
    assert not (tmp_path / "p/tasks").exists()
    # All that it holds may be passed on.
    assert not (tmp_path / "p/NOTICE").exists()


def test_no_file_names_a_path_of_this_machine(made: Made, wheels: Path) -> None:
    ours = {str(Path(assay.__file__).parent), str(made[0]), str(wheels), os.path.expanduser("~")}
    for name, data in contents(made[0]).items():
        assert not [path for path in ours if f"{path}/".encode() in data], name


def test_equal_packs_give_equal_archives(made: Made, wheels: Path, carried: CarriedTask) -> None:
    folder, packed = made
    again = folder.parent / "again" / "pack"
    again.parent.mkdir()
    second = make_pack(again, wheels, tasks=[carried], archive=True)
    assert packed.archive is not None
    assert second.archive is not None
    first_bytes = Path(packed.archive).read_bytes()
    assert Path(second.archive).read_bytes() == first_bytes
    assert packed.archive_bytes == len(first_bytes)
    with tarfile.open(packed.archive) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == sorted(
        f"pack/{name}" for name in contents(folder)
    )
    assert {(member.mtime, member.uid, member.uname) for member in members} == {(0, 0, "")}
    assert {m.name for m in members if m.mode & 0o100} == {"pack/run"}


def test_over_the_limit_nothing_is_written_and_the_largest_parts_are_named(
    tmp_path: Path, wheels: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        make_pack(tmp_path / "p", wheels, most_bytes=1 << 16)
    assert "over the limit of 0.06 MiB; the most is taken by assay " in str(refused.value)
    assert "--assume" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_the_manifest_counts_to_the_limit(tmp_path: Path, wheels: Path) -> None:
    size = make_pack(tmp_path / "p", wheels).bytes
    with pytest.raises(UsageError, match="over the limit"):
        make_pack(tmp_path / "q", wheels, most_bytes=size - 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p"]


@pytest.mark.parametrize("step", ["write_archive", "put_in_place"])
def test_interrupted_it_leaves_nothing(
    tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def interrupted(*arguments: Any) -> None:
        assert list(tmp_path.iterdir()) != []
        raise KeyboardInterrupt

    monkeypatch.setattr(make, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_pack(tmp_path / "p", wheels, archive=True)
    assert list(tmp_path.iterdir()) == []


def test_a_pack_is_made_again_in_its_place(copy: Path, tmp_path: Path, wheels: Path) -> None:
    (copy / "site/assay/__pycache__").mkdir()
    (copy / "site/assay/__pycache__/x.pyc").write_bytes(b"")
    make_pack(copy, wheels)
    assert not (copy / "tasks").exists()
    assert list(copy.parent.iterdir()) == [copy]


def test_a_pack_with_evidence_is_not_replaced(copy: Path, wheels: Path) -> None:
    (copy / "evidence/ledger").mkdir(parents=True)
    (copy / "evidence/ledger/x.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match=r"evidence/ledger/x\.jsonl.*assay ledger merge"):
        make_pack(copy, wheels)
    assert (copy / "evidence/ledger/x.jsonl").is_file()


def test_a_folder_that_is_no_pack_is_refused(tmp_path: Path, wheels: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"schema": "assay.bundle.1"}')
    with pytest.raises(UsageError, match="it is no pack"):
        make_pack(tmp_path, wheels)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(UsageError, match="it is no pack"):
        make_pack(tmp_path, wheels)
    with pytest.raises(UsageError, match="not a folder"):
        make_pack(tmp_path / "manifest.json", wheels)
    with pytest.raises(UsageError, match="the folder to put it into is not there"):
        make_pack(tmp_path / "nowhere/p", wheels)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_an_empty_folder_will_do(tmp_path: Path, wheels: Path) -> None:
    assert make_pack(tmp_path, wheels).path == str(tmp_path)


def test_an_archive_of_somebody_else_is_not_overwritten(tmp_path: Path, wheels: Path) -> None:
    (tmp_path / "p.tar.xz").write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"p\.tar\.xz: there is something already"):
        make_pack(tmp_path / "p", wheels, archive=True)
    (tmp_path / "p").mkdir()
    with pytest.raises(UsageError, match=r"p\.tar\.xz: there is something already"):
        make_pack(tmp_path / "p", wheels, archive=True)
    assert (tmp_path / "p.tar.xz").read_bytes() == b"mine"


def test_a_missing_wheel_is_one_line(tmp_path: Path, wheels: Path) -> None:
    with pytest.raises(UsageError) as refused:
        make_pack(tmp_path / "p", wheels, more=["nowhere-to-be-found"])
    said = str(refused.value)
    assert "No matching distribution found for nowhere-to-be-found" in said
    assert "\n" not in said


def test_a_wheel_for_another_python_is_not_taken(tmp_path: Path) -> None:
    tag = "cp" + OTHER_PYTHON.replace(".", "")
    folder = tmp_path / "wheels"
    make_wheel(folder, "tiny", "2.0", tag=f"{tag}-{tag}-manylinux_2_17_x86_64")
    make_wheel(folder, "tiny", "1.0")
    x86 = {"platforms": ["manylinux_2_28_x86_64"]}
    here = make_pack(tmp_path / "p", folder, **x86)
    there = make_pack(tmp_path / "q", folder, python=OTHER_PYTHON, **x86)
    assert [p.manifest.wheels[0].version for p in (here, there)] == ["1.0", "2.0"]


def test_two_wheels_must_not_bring_different_files_of_one_name(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    make_wheel(folder, "tiny", files={"same.py": "x = 1\n", "shared.py": "x = 1\n"})
    make_wheel(folder, "rival", files={"same.py": "x = 1\n", "shared.py": "x = 2\n"})
    with pytest.raises(UsageError, match=r"both bring extra/site-packages/shared\.py, and differ"):
        make_pack(tmp_path / "p", folder, more=["tiny", "rival"])


def test_torch_never_travels(tmp_path: Path, wheels: Path) -> None:
    with pytest.raises(UsageError, match="torch is always the host's own"):
        make_pack(tmp_path / "p", wheels, more=["torch>=2"])


def test_numpy_travels_when_it_is_asked_for(tmp_path: Path, wheels: Path) -> None:
    folder = Path(shutil.copytree(wheels, tmp_path / "wheels"))
    make_wheel(folder, "numpy", "2.0")
    packed = make_pack(tmp_path / "p", folder, more=["numpy"])
    assert [wheel.name for wheel in packed.manifest.wheels] == ["numpy"]
    assert "numpy" not in {package.name for package in packed.manifest.assumed}


def test_a_registry_that_does_not_answer_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing listens on this port of this very machine.
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UnavailableError) as refused:
        make_pack(tmp_path / "p", None)
    assert str(refused.value) == (
        "the package registry cannot be reached (name a folder of wheels with --wheels)"
    )


def test_a_python_without_pip_is_one_line(
    tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnavailableError, match="this Python has no pip"):
        make_pack(tmp_path / "p", wheels)
