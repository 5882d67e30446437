"""Tasks with baselines out of wheels: snapshots and what they import, in a pack."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from assay.pack.carried import CarriedTask
from assay.pack.verify import verify
from assay.spec.errors import EvidenceError
from assay.spec.errors import UsageError
from assay.spec.noun import sha256_hex
from tests.pack.making import SNAPSHOT
from tests.pack.making import arrive
from tests.pack.making import carry
from tests.pack.making import contents
from tests.pack.making import make_lock
from tests.pack.making import make_pack
from tests.pack.making import make_task
from tests.pack.making import make_wheel

UP = "tasks/own/waves/baselines/up"
# A wheel asks for a version of torch, and its files run with others too.
REQUIRES = ("tables<3", "torch==99.0", "cuda-python>=13")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a baseline asks for: tables, and chairs in turn, which need the host's bindings."""
    folder = tmp_path_factory.mktemp("wheels")
    make_wheel(folder, "tiny")
    make_wheel(folder, "tables", "3.0", requires=("cuda-bindings", "stools"))
    make_wheel(folder, "stools")
    make_wheel(folder, "tables", "2.0", requires=("chairs>=1",))
    make_wheel(folder, "chairs", "1.5", requires=("cuda-bindings", "numpy>=99"))
    return folder


@pytest.fixture
def task(tmp_path: Path) -> CarriedTask:
    return carry(make_task(tmp_path / "waves", *REQUIRES), *REQUIRES)


def test_the_snapshot_travels_and_what_it_asks_for(
    tmp_path: Path, wheels: Path, task: CarriedTask
) -> None:
    made = make_pack(tmp_path / "p", wheels, tasks=[task])
    for path, data in SNAPSHOT.items():
        assert (tmp_path / "p" / UP / "snapshot" / path).read_bytes() == data
    assert (tmp_path / "p" / UP / "adapter.py").is_file()
    names = [(wheel.name, wheel.version) for wheel in made.manifest.wheels]
    assert names == [("chairs", "1.5"), ("tables", "2.0"), ("tiny", "1.0")]
    (baseline,) = made.manifest.baselines
    assert (baseline.task, baseline.baseline, baseline.path) == ("own/waves", "upstream", UP)
    assert (baseline.package, baseline.version, baseline.carried) == ("waves", "0.5", True)
    assert baseline.lock_hash == sha256_hex(make_lock(*REQUIRES).canonical())
    assert (baseline.files, baseline.bytes) == (2, sum(map(len, SNAPSHOT.values())))
    assert baseline.requires == (
        "chairs>=1",
        "cuda-bindings",
        "cuda-python>=13",
        "numpy>=99",
        "tables<3",
        "torch==99.0",
    )
    assert (baseline.lacks, baseline.differs) == ((), ())
    parts = {part.name: part.bytes for part in made.manifest.parts}
    assert parts["snapshots"] == baseline.bytes


@pytest.mark.long
def test_a_host_without_what_only_a_baseline_asks_for_still_runs_the_pack(
    tmp_path: Path, wheels: Path, task: CarriedTask
) -> None:
    made = make_pack(tmp_path / "p", wheels, tasks=[task])
    host = {package.name: (package.needed, package.least) for package in made.manifest.assumed}
    # Bounds are those of Assay's own requirements, not those of the baseline.
    assert host["torch"] == (True, "2.9")
    assert host["numpy"] == (True, "1.26")
    assert host["cuda-python"] == host["cuda-bindings"] == (False, None)
    assert arrive(tmp_path / "p", "task", "list", cwd=tmp_path).returncode == 0


def test_packs_without_baselines_do_not_speak_of_cuda(tmp_path: Path, wheels: Path) -> None:
    made = make_pack(tmp_path / "p", wheels)
    assert "cuda-python" not in {package.name for package in made.manifest.assumed}


def test_a_requirement_can_be_left_out_and_the_manifest_says_so(
    tmp_path: Path, wheels: Path, task: CarriedTask
) -> None:
    made = make_pack(tmp_path / "p", wheels, tasks=[task], without=["nvidia-ml-py", "tables"])
    assert [wheel.name for wheel in made.manifest.wheels] == ["tiny"]
    assert made.manifest.baselines[0].lacks == ("tables",)


def test_a_version_of_ones_own_takes_the_place_of_the_locks(
    tmp_path: Path, wheels: Path, task: CarriedTask
) -> None:
    made = make_pack(tmp_path / "p", wheels, tasks=[task], more=["tables==3.0"])
    assert [(w.name, w.version) for w in made.manifest.wheels] == [
        ("stools", "1.0"),
        ("tables", "3.0"),
    ]
    assert made.manifest.baselines[0].differs == ("tables 3.0, and <3 was asked for",)
    # It is there for the baseline all the same: what it asks of the host stops nothing else.
    host = {package.name: package.needed for package in made.manifest.assumed}
    assert host["cuda-bindings"] is False


def test_locks_that_cannot_agree_are_one_line(tmp_path: Path, wheels: Path) -> None:
    tasks = [
        carry(make_task(tmp_path / name, pin, name=f"own/{name}"), pin)
        for name, pin in (("one", "tables==2.0"), ("two", "tables==3.0"))
    ]
    with pytest.raises(UsageError, match=r"tables==2\.0 and tables==3\.0.*--with NAME==VERSION"):
        make_pack(tmp_path / "p", wheels, tasks=tasks)
    assert not (tmp_path / "p").exists()


def test_what_a_lock_asks_for_must_be_among_the_wheels(tmp_path: Path, wheels: Path) -> None:
    task = carry(make_task(tmp_path / "waves", "nowhere-to-be-found"), "nowhere-to-be-found")
    with pytest.raises(UsageError, match="No matching distribution found for nowhere-to-be-found"):
        make_pack(tmp_path / "p", wheels, tasks=[task])
    assert not (tmp_path / "p").exists()


def test_left_behind_it_brings_no_file_and_no_wheel(tmp_path: Path, wheels: Path) -> None:
    task = carry(make_task(tmp_path / "waves", *REQUIRES), *REQUIRES, with_files=False)
    made = make_pack(tmp_path / "p", wheels, tasks=[task])
    (baseline,) = made.manifest.baselines
    assert (baseline.carried, baseline.files, baseline.bytes) == (False, 0, 0)
    assert [wheel.name for wheel in made.manifest.wheels] == ["tiny"]
    assert not (tmp_path / "p" / UP / "snapshot").exists()
    assert (tmp_path / "p" / UP / "baseline.lock").is_file()
    assert verify(tmp_path / "p").problems == ()


@pytest.mark.parametrize("files", [{}, SNAPSHOT | {"waves/ops.py": b"def my_op(x, y): pass\n"}])
def test_a_byte_that_differs_from_the_lock_is_not_packed(
    tmp_path: Path, wheels: Path, task: CarriedTask, files: dict[str, bytes]
) -> None:
    other = dataclasses.replace(task.baselines[0], files=files)
    changed = dataclasses.replace(task, baselines=(other,))
    with pytest.raises(EvidenceError) as refused:
        make_pack(tmp_path / "p", wheels, tasks=[changed])
    assert "is not the file that the lock names (assay task snapshot own/waves)" in str(
        refused.value
    )
    assert not (tmp_path / "p").exists()


def test_what_the_lock_does_not_name_stays_behind(
    tmp_path: Path, wheels: Path, task: CarriedTask
) -> None:
    (task.folder / "baselines/up/snapshot/waves/more.py").write_text("")
    make_pack(tmp_path / "p", wheels, tasks=[task])
    below = contents(tmp_path / "p" / UP / "snapshot")
    assert below == SNAPSHOT


def test_verify_holds_a_snapshot_against_its_lock(
    tmp_path: Path, wheels: Path, task: CarriedTask
) -> None:
    pack = tmp_path / "p"
    make_pack(pack, wheels, tasks=[task])
    assert verify(pack).problems == ()
    (pack / UP / "snapshot/waves/ops.py").write_bytes(b"def my_op(x, y): pass\n")
    assert [p.split(":")[0] for p in verify(pack).problems] == [f"{UP}/snapshot/waves/ops.py"]
    # One who changes the manifest as well still has to change the lock, which evidence names.
    manifest = json.loads((pack / "manifest.json").read_text())
    for file in manifest["files"]:
        if file["path"].endswith("waves/ops.py"):
            data = (pack / file["path"]).read_bytes()
            file["sha256"], file["bytes"] = sha256_hex(data), len(data)
    (pack / "manifest.json").write_text(json.dumps(manifest))
    assert verify(pack).problems == (
        f"{UP}/snapshot/waves/ops.py: not the file that the lock names",
    )
    manifest["baselines"][0]["lock_hash"] = "0" * 64
    (pack / "manifest.json").write_text(json.dumps(manifest))
    assert verify(pack).problems == (f"{UP}/baseline.lock: not the lock that was packed",)
    (pack / UP / "baseline.lock").write_text("{")
    assert verify(pack).problems[-1].startswith(f"{UP}/baseline.lock: Expecting property name")
    (pack / UP / "baseline.lock").unlink()
    assert verify(pack).problems[-1] == f"{UP}/baseline.lock: No such file or directory"


@pytest.mark.long
def test_the_doctor_says_on_arrival_what_is_ready_and_what_is_not(
    tmp_path: Path, wheels: Path
) -> None:
    one = carry(make_task(tmp_path / "one", "stools", name="own/one"), "stools")
    needs = ("stools", "tiny")
    two = carry(make_task(tmp_path / "two", *needs, name="own/two"), *needs)
    pack = tmp_path / "p"
    for without, said in (
        (["nvidia-ml-py"], ["ready: own/one/up, own/two/up"]),
        (["nvidia-ml-py", "tiny"], ["ready: own/one/up", "no tiny here: own/two/up"]),
    ):
        make_pack(pack, wheels, tasks=[one, two], more=[], without=without)
        shown = arrive(pack, "doctor", "--json", cwd=tmp_path)
        findings = {each["name"]: each for each in json.loads(shown.stdout)["findings"]}
        # Shipped tasks have a place in it as well, by what they lack.
        assert set(said) <= set(findings["baselines"]["found"].split("; "))
