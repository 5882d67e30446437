from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import typer

from assay.cli import _edge
from assay.cli.pack import pack
from assay.cli.pack import read_size
from assay.spec.errors import UsageError
from tests.pack.making import OURS
from tests.pack.making import PLATFORM
from tests.pack.making import PYTHON
from tests.pack.making import make_task
from tests.pack.making import make_wheel


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A command line that packs into ./p with a wheel of ours and without a network."""
    app = typer.Typer()
    app.command()(pack)
    app.command()(lambda: None)  # with one command alone, typer would drop its name
    monkeypatch.setattr(_edge, "app", app)
    monkeypatch.chdir(tmp_path)
    make_wheel(tmp_path / "wheels", "tiny")
    assumed = [word for name in OURS for word in ("--assume", name)]
    target = ["--python", PYTHON, "--platform", PLATFORM]
    more = ["--without", "nvidia-ml-py", "--with", "tiny", "--wheels", "wheels"]
    return ["pack", "p", *target, *assumed, *more]


def test_the_size_is_shown_by_part(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run([*command, "--task", "cpu/rms_norm", "--archive"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["part", "files", "KiB"]
    assert shown[1].split()[:1] == ["assay"]
    assert ["tiny", "1.0", "4", "1"] in [line.split() for line in shown]
    size = sum(path.stat().st_size for path in Path("p").rglob("*") if path.is_file())
    assert shown[-4] == (
        f"{Path.cwd()}/p: {size / 2**20:.2f} MiB of 64.00 MiB, for Python {PYTHON} on {PLATFORM}"
    )
    assert shown[-3] == "task cpu/rms_norm in site/assay/tasks/cpu/rms_norm"
    assert shown[-2].startswith("the host brings numpy 1.26 or newer, ")
    assert shown[-1].startswith(f"{Path.cwd()}/p.tar.xz: ")


def test_json_then_verify(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["manifest"] == json.loads(Path("p/manifest.json").read_text())
    assert [wheel["name"] for wheel in said["manifest"]["wheels"]] == ["tiny"]
    assert _edge.run(["pack", "--verify", "p"]) == 0
    assert capsys.readouterr().out.endswith(", 0 problems\n")
    Path("p/run").write_text("")
    assert _edge.run(["pack", "--verify", "p", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], len(report["problems"])) == (False, 1)
    assert report["problems"][0].startswith("run: 0 bytes, and ")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--most", "64"], 64, "--most: 64 is no size"),
        (["--most", "10KiB"], 64, "over the limit of 0.01 MiB"),
        (["--python", "2.7"], 64, "2.7 is no Python that Assay runs on"),
        (["--platform", "any"], 64, "any is no platform that Assay runs on"),
        (["--task", "nowhere/none"], 64, "nowhere/none: no such task"),
        (["--wheels", "nowhere"], 64, "nowhere: not a folder"),
        (["--with", "tiny>9"], 64, "Cannot install tiny and tiny>9"),
        (["--with", "a b"], 64, "a b is no requirement"),
        (["--with", "torch"], 64, "torch is always the host's own"),
        (["--verify"], 64, "p: no pack: there is no manifest.json"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    said: str,
) -> None:
    assert _edge.run([*command, *arguments]) == status
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert [path.name for path in Path.cwd().iterdir()] == ["wheels"]


def test_a_task_with_a_baseline_travels_with_its_snapshot(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    make_task(Path("waves"), "tables<3", "torch==99.0")
    proprietary = "Classifier: License :: Other/Proprietary License"
    make_wheel(Path("wheels"), "tables", "2.0", licence=proprietary)
    assert _edge.run([*command, "--task", "./waves"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert ["snapshots", "2", "1"] in [line.split() for line in shown]
    assert shown[-4:-1] == [
        "task own/waves in tasks/own/waves",
        "baseline own/waves/upstream of waves 0.5",
        "for hosts of your own, not for redistribution: "
        "it holds tables (Other/Proprietary License)",
    ]


def test_what_a_baseline_will_lack_is_shown(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    make_task(Path("waves"), "tables<3", "tiny>=2")
    assert _edge.run([*command, "--task", "./waves", "--without", "tables", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["manifest"]["baselines"]
    assert [(each["lacks"], each["differs"]) for each in said] == [
        (["tables"], ["tiny 1.0, and >=2 was asked for"])
    ]
    assert _edge.run([*command, "--task", "./waves", "--without", "tables"]) == 0
    assert (
        "baseline own/waves/upstream of waves 0.5; without tables, so it cannot run; "
        "tiny 1.0, and >=2 was asked for"
    ) in capsys.readouterr().out.splitlines()


def test_a_large_wheel_is_said_to_take_more_later(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = {"bulky.txt": "0123456789abcdef" * (1 << 17)}
    make_wheel(Path("wheels"), "bulky", files=text)
    assert _edge.run([*command, "--with", "bulky"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "unpacked when it first runs there: bulky to 2.00 MiB" in shown


def test_a_missing_snapshot_is_one_line_unless_it_is_left_behind(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    task = make_task(Path("waves"), "tables<3")
    shutil.rmtree(task / "baselines/up/snapshot")
    assert _edge.run([*command, "--task", "./waves"]) == 64
    error = capsys.readouterr().err
    assert "the files of waves 0.5 are not here" in error
    assert "(assay task snapshot own/waves, or pack --without-baselines)" in error
    assert error.count("\n") == 1
    assert not Path("p").exists()
    assert _edge.run([*command, "--task", "./waves", "--without-baselines"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "baseline own/waves/upstream of waves 0.5: left behind" in shown


def test_a_byte_that_was_changed_is_one_line(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    task = make_task(Path("waves"))
    file = task / "baselines/up/snapshot/waves/ops.py"
    file.write_bytes(file.read_bytes().replace(b"x", b"z"))
    assert _edge.run([*command, "--task", "./waves"]) != 0
    error = capsys.readouterr().err
    assert "waves/ops.py: not the file that the lock names" in error
    assert error.count("\n") == 1
    assert not Path("p").exists()


def test_sizes_have_units() -> None:
    assert (read_size("64MiB"), read_size("1.5 GiB"), read_size("3KiB")) == (
        64 * 2**20,
        3 * 2**29,
        3072,
    )
    with pytest.raises(UsageError):
        read_size("MiB")
