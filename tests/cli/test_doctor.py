from __future__ import annotations

import json

import pytest
import typer

from assay.cli import _edge
from assay.cli import doctor as verb
from assay.device.doctor import Finding
from assay.device.doctor import Mark

FINE = Finding(name="python", mark=Mark.OK, found="3.11.7", enables="everything")
GONE = Finding(
    name="compiler",
    mark=Mark.MISS,
    found="none",
    enables="C++ solutions",
    next_step="install one, for example: apt-get install g++",
)
FLOOR = Finding(name="noise floor", mark=Mark.OK, found="0.50% [red]", enables="differences")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    app = typer.Typer()
    app.command()(verb.doctor)
    app.command()(lambda: None)  # with one command alone, typer would drop its name
    monkeypatch.setattr(_edge, "app", app)
    monkeypatch.setattr(verb, "examine_host", lambda: (FINE,))
    monkeypatch.setattr(verb, "measure_noise", lambda case, report: FLOOR)
    return monkeypatch


def test_a_fit_host_is_0(host: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert _edge.run(["doctor"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].split() == ["OK", "python", "3.11.7", "everything"]
    assert shown[-1] == "the cpu judge works here at its full label"


def test_what_is_missing_is_1_and_comes_with_what_to_do(
    host: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host.setattr(verb, "examine_host", lambda: (FINE, GONE))
    assert _edge.run(["doctor"]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[-2] == "MISS compiler: install one, for example: apt-get install g++"
    assert shown[-1] == "the cpu judge lacks 1 of what it needs for its full label"


def test_noise_is_measured_only_when_asked_for(
    host: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _edge.run(["doctor"]) == 0
    assert "noise floor" not in capsys.readouterr().out
    assert _edge.run(["doctor", "--noise"]) == 0
    assert "0.50% [red]" in capsys.readouterr().out


def test_json(host: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    host.setattr(verb, "examine_host", lambda: (FINE, GONE))
    assert _edge.run(["doctor", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said == {"fit": False, "findings": [FINE.content(), GONE.content()]}
