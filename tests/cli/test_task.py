from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.cli.task import app
from assay.spec.errors import UsageError
from assay.task import load_task
from tests.judge.claims import stored


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None:
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


def run_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def test_list_names_every_shipped_task_with_its_solutions() -> None:
    lines = run("list").splitlines()
    assert lines[0].split() == ["task", "rows", "solutions", "what", "it", "computes"]
    assert [line.split()[0] for line in lines[1:]] == [
        "cpu/group_norm_silu",
        "cpu/layer_norm_scale_shift",
        "cpu/rms_norm",
        "cpu/rotary_embedding",
        "cuda/rms_norm",
        "cuda/scale_residual",
        "diffusion/fuse_scale_shift",
        "diffusion/group_norm_silu",
        "diffusion/norm_infer",
        "diffusion/norm_scale_shift",
        "diffusion/norm_tanh_mul_add",
        "diffusion/qknorm_rope",
        "diffusion/rotary_embedding",
    ]
    counts = [3, 3, 3, 3, 10, 6, 15, 85, 6, 39, 4, 10, 11]
    assert [entry["rows"] for entry in run_json("list")] == counts


def test_list_goes_on_past_a_task_that_does_not_load() -> None:
    run("new", "tasks/own", "--name", "own")
    Path("tasks/own/workloads.json").write_text("{")
    assert "does not load: tasks/own/workloads.json: not JSON" in run("list")
    assert run_json("list", "tasks")[0]["problem"].startswith("tasks/own/workloads.json")


def test_show_prints_what_a_task_asks() -> None:
    shown = run("show", "cpu/rms_norm")
    assert "rms_norm(x, w, y; eps)" in shown
    assert "naive (local, primary)" in shown
    assert "x=1320x128:float32 w=128:float32 y=1320x128:float32" in shown
    content = run_json("show", "cpu/rms_norm")
    assert content["task"]["name"] == "cpu/rms_norm"
    assert content["freeze"]["status"] == "frozen"
    assert len(content["content_hash"]) == 64


def test_show_names_verdicts_and_labels_those_against_an_older_baseline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ASSAY_HOME", "home")
    assert "verdict " not in run("show", "cpu/rms_norm")
    shutil.copytree(load_task("cpu/rms_norm").path, "tasks/own")
    _, row = stored(Path("home/ledger"), task=load_task(Path("tasks/own")))
    (line,) = [line for line in run("show", "tasks/own").splitlines() if "verdict " in line]
    assert row.id in line
    assert "stale" not in line
    with Path("tasks/own/baselines/naive/rms_norm.cpp").open("a") as file:
        file.write("\n")
    assert "(stale baseline)" in run("show", "tasks/own")


def test_a_new_task_is_shown_frozen_and_seen_to_change() -> None:
    assert run("new", "silu", "--name", "own/silu") == "own/silu written to silu\n"
    assert "(not frozen)" in run("show", "silu")
    assert run("freeze", "silu") == "own/silu frozen: 5 files\n"
    assert "(frozen)" in run("show", "silu")
    Path("silu/reference.py").write_text(Path("silu/reference.py").read_text() + "\n")
    assert "(changed reference.py)" in run("show", "silu")
    assert run_json("show", "silu")["freeze"]["changed"] == ["reference.py"]
    assert run_json("freeze", "silu")["schema"] == "assay.freeze.1"
    assert run_json("new", "other", "--name", "own/other")["solutions"] == ["candidate"]


@pytest.mark.parametrize(
    "arguments", [("show", "nope"), ("freeze", "nope"), ("new", ".", "--name", "a b")]
)
def test_a_mistake_is_an_error_of_ours_with_status_64(arguments: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        run(*arguments)
    assert caught.value.exit_status == 64
