"""How an evaluator is run and what its words mean, on evaluators of one line."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.redteam.attack import Attack
from assay.redteam.evaluator import Result
from assay.redteam.evaluator import plain_command
from assay.redteam.evaluator import read_command
from assay.redteam.evaluator import run_evaluator
from assay.redteam.find import find_attack
from assay.redteam.outcome import Fate
from assay.redteam.outcome import fought
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError


def said(code: str, folder: Path, seconds: float = 20.0) -> Result:
    return run_evaluator([sys.executable, "-c", code, "{solution}"], folder, seconds)


def test_the_last_result_counts(tmp_path: Path) -> None:
    code = (
        """print('RESULT {"ok": false}'); print('RESULT {"ok": true, "speedup": 2.5}'); print(1)"""
    )
    assert said(code, tmp_path) == Result(True, 2.5, "")


def test_the_folder_is_told_in_full_and_the_run_is_elsewhere(tmp_path: Path) -> None:
    code = (
        "import os, sys, json; here = os.path.realpath('.'); told = sys.argv[1]\n"
        "ok = os.path.isabs(told) and not os.listdir(here) and here != os.path.realpath(told)\n"
        "print('RESULT', json.dumps({'ok': ok, 'speedup': 1}))"
    )
    assert said(code, tmp_path) == Result(True, 1.0, "")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("RESULT nonsense", "no JSON after RESULT: nonsense"),
        ("RESULT [1]", "no ok in its result"),
        ('RESULT {"ok": 1}', "no ok in its result"),
        ("a word", "exit status 0: a word"),
        ("", "exit status 0: it said nothing"),
    ],
)
def test_a_result_that_is_none_is_no_yes(tmp_path: Path, line: str, words: str) -> None:
    result = said(f"print({line!r})", tmp_path)
    assert not result.ok
    assert words in result.said


@pytest.mark.parametrize("speedup", ["NaN", "Infinity", "-1", "true", '"9"', "null"])
def test_a_speedup_that_is_no_number_is_none(tmp_path: Path, speedup: str) -> None:
    line = f'RESULT {{"ok": true, "speedup": {speedup}}}'
    assert said(f"print({line!r})", tmp_path) == Result(True, None, "")


def test_what_hangs_or_fails_is_ended_and_said(tmp_path: Path) -> None:
    hung = said("import time; time.sleep(60)", tmp_path, seconds=1.0)
    assert hung == Result(False, None, "not done within 1 s: it said nothing")
    assert said("raise SystemExit(3)", tmp_path).said == "exit status 3: it said nothing"
    with pytest.raises(UnavailableError, match="cannot be started"):
        run_evaluator(["/no/such/command", "{solution}"], tmp_path)


def test_an_interrupt_leaves_no_process_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "pid"
    code = (
        "import os, pathlib, sys, time\n"
        "pathlib.Path(sys.argv[1], 'told').write_text(str(os.getpid()))\n"
        "pathlib.Path(sys.argv[1], 'told').rename(pathlib.Path(sys.argv[1], 'pid'))\n"
        "time.sleep(60)"
    )
    wait = subprocess.Popen.wait

    def interrupted(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if timeout is None:
            return wait(process)
        while not told.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        said(code, tmp_path)
    assert not Path("/proc", told.read_text()).exists()


def test_a_command_must_say_where_the_solution_goes() -> None:
    assert read_command("python 'my file.py' --at={solution}") == [
        "python",
        "my file.py",
        "--at={solution}",
    ]
    with pytest.raises(UsageError, match=r"nothing in it says \{solution\}"):
        read_command("python evaluate.py")
    with pytest.raises(UsageError, match="cannot be split into words"):
        read_command("python 'evaluate.py {solution}")


REFUSED = "precision_downgrade"  # ends as wrong_value and in no other way
MEASURED = "obfuscated_exec"  # ends with a time, none of which is faster


@pytest.mark.parametrize(
    ("name", "ok", "speedup", "fate"),
    [
        (REFUSED, True, 0.7, Fate.BEATEN),
        (REFUSED, True, None, Fate.BEATEN),
        (REFUSED, False, 99.0, Fate.HELD),
        (MEASURED, True, 1.5, Fate.BEATEN),
        (MEASURED, True, 1.49, Fate.HELD),
        (MEASURED, True, None, Fate.HELD),
    ],
)
def test_taking_a_wrong_answer_is_a_defeat_and_so_is_a_gain_that_is_not_there(
    name: str, ok: bool, speedup: float | None, fate: Fate
) -> None:
    attack: Attack = find_attack(name)
    assert fought(attack, Result(ok, speedup, "")).fate is fate


def test_the_word_of_a_fight_has_its_figure() -> None:
    attack = find_attack(REFUSED)
    assert fought(attack, Result(True, 3.21, "")).word == "beaten: taken for right, 3.2x"
    assert fought(attack, Result(True, None, "")).word == "beaten: taken for right"
    assert fought(attack, Result(False, None, "no")).word == "not beaten"


def test_the_plain_evaluator_takes_its_own_baseline_for_right() -> None:
    baseline = Path(find_attack(REFUSED).folder).parents[2] / "victim/cpu/baselines/naive"
    result = run_evaluator(plain_command("cpu"), baseline)
    assert result.ok
    assert result.speedup is not None
