"""Attention: what was seen of a candidate stands beside its verdict and never changes it."""

from __future__ import annotations

import ctypes
import dataclasses
import io
from pathlib import Path

import pytest
from rich.console import Console

from assay.cli._show import attention_lines
from assay.cli._show import show_verdict
from assay.device.runners.zygote import RunnerHandle
from assay.judge.bundle_verify import open_bundle
from assay.judge.bundle_verify import verify_bundle
from assay.judge.case import Contender
from assay.judge.exam import Question
from assay.judge.libraries import is_own
from assay.judge.libraries import loaded_libraries
from assay.judge.lookout import MOST_FINDINGS
from assay.judge.lookout import Lookout
from assay.judge.referee import Judgement
from assay.judge.referee import Referee
from assay.spec.attention import Finding
from assay.spec.attention import FindingKind
from assay.spec.distribution import Distribution
from assay.spec.documents import parse_document
from assay.spec.rules import Budget
from assay.spec.rules import Rules
from assay.spec.status import Status
from assay.spec.verdict import TaskVerdict
from assay.task import load_task
from assay.task.bundle import make_bundle
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import case
from tests.device.cpu.making import contender
from tests.judge.claims import TASK
from tests.judge.claims import crashed
from tests.judge.claims import judged as claimed
from tests.judge.claims import stored
from tests.judge.test_build import CPP

RULES = Rules(generations=5, ab_blocks=2, aa_blocks=2)
BUDGET = Budget(task_seconds=2.0)
LIBRARY = "libresolv.so.2"
"""Of every Linux host with glibc, and of no process that does not ask for it."""
LOADED = Finding(
    file=LIBRARY,
    kind=FindingKind.LOADED_LIBRARY,
    what=f"loads {LIBRARY}, which the baseline does not",
)
BANNED = Finding(file="kernel.py", line=1, kind=FindingKind.IMPORT, what="import subprocess")
CTYPES = Finding(file="kernel.py", line=2, kind=FindingKind.NATIVE_LOADING, what="import ctypes")
LOADS = "import subprocess\nimport ctypes\nctypes.CDLL('libresolv.so.2')\n" + PLAIN

pytestmark = pytest.mark.skipif(
    not any(Path(folder, LIBRARY).exists() for folder in ("/lib", "/lib64", "/usr/lib64"))
    and not any(Path("/usr/lib").glob(f"*/{LIBRARY}")),
    reason=f"the host has no {LIBRARY}",
)


def judged(candidate: Contender) -> Judgement:
    return Referee(case(candidate), rules=RULES, budget=BUDGET).judge()


def asked(candidate: Contender) -> TaskVerdict:
    """One question alone: as long as nothing is timed, much quicker."""
    about = case(candidate)
    return Referee(about, rules=RULES).ask(Question(about.rows[0], Distribution.NORMAL, 1))


@pytest.mark.long
def test_a_candidate_that_is_looked_at_is_timed_all_the_same() -> None:
    verdict = judged(contender(LOADS)).verdict
    assert verdict.verdict.is_timed
    assert verdict.attention == (LOADED, BANNED, CTYPES)


def test_an_honest_candidate_shows_nothing_and_has_the_same_labels() -> None:
    seen, unseen = asked(contender(LOADS)), asked(contender(PLAIN))
    assert unseen.attention == ()
    assert (seen.verdict, seen.labels) == (unseen.verdict, unseen.labels)
    assert seen.attention == (LOADED, BANNED, CTYPES)


def test_a_wrong_candidate_is_wrong_and_looked_at() -> None:
    verdict = asked(contender(LOADS + "    y[-1] = x[-1] * 2\n"))
    assert verdict.verdict is Status.WRONG_VALUE
    assert verdict.attention == (LOADED, BANNED, CTYPES)


def test_one_that_does_not_load_is_looked_at_by_its_sources() -> None:
    verdict = judged(contender("import subprocess\nraise RuntimeError('no')\n")).verdict
    assert verdict.verdict is Status.IMPORT_ERROR
    assert verdict.attention == (BANNED,)


def test_a_library_that_is_loaded_in_a_call_is_seen_too() -> None:
    lazy = "import subprocess\nimport ctypes\n" + PLAIN + "    ctypes.CDLL('libresolv.so.2')\n"
    assert asked(contender(lazy)).attention == (LOADED, BANNED, CTYPES)


def test_a_copy_of_a_library_in_the_solutions_own_folder_is_named() -> None:
    copied = """
        import ctypes, pathlib, shutil
        ctypes.CDLL('libresolv.so.2')
        maps = pathlib.Path('/proc/self/maps').read_text()
        found = next(line.split()[5] for line in maps.splitlines() if 'libresolv' in line)
        mine = pathlib.Path(__file__).parent / 'library.so'
        shutil.copy(found, mine)
        ctypes.CDLL(str(mine))
        import torch
        def twice(x, y, *, bias):
            torch.mul(x, 2, out=y)
            y.add_(bias)
    """
    verdict = asked(contender(copied))
    libraries = [f for f in verdict.attention if f.kind is FindingKind.LOADED_LIBRARY]
    assert [finding.file for finding in libraries] == ["library.so", LIBRARY]


def test_an_honest_library_of_ones_own_is_no_news() -> None:
    assert asked(contender(CPP, language="cpp")).attention == ()


def test_what_is_whose_is_told_by_its_folder() -> None:
    assert is_own("/tmp/assay-runner-ab_1/library.so", "library.so")
    assert not is_own("/tmp/assay-runner-ab_1/library.so", None)
    assert not is_own("/tmp/assay-runner-ab_1/libcublas.so.12", "library.so")
    assert is_own("/tmp/assay-runner-ab_1/cache/triton/x/launcher.so", None)
    assert not is_own("/usr/lib/cache/libcublas.so.12", "library.so")


def test_a_candidate_that_hides_its_libraries_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(runner: RunnerHandle) -> frozenset[str] | None:
        pids.setdefault(runner.pid, len(pids))
        return loaded_libraries(runner) if pids[runner.pid] == 0 else None

    pids: dict[int, int] = {}
    monkeypatch.setattr("assay.judge.lookout.loaded_libraries", shown)
    seen = asked(contender(PLAIN)).attention
    assert [str(finding) for finding in seen] == ["hides what it has loaded"]


def test_a_host_that_shows_no_maps_says_nothing_of_libraries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("assay.judge.lookout.loaded_libraries", lambda runner: None)
    assert asked(contender(LOADS)).attention == (BANNED, CTYPES)


def test_a_note_that_speaks_to_a_reviewer_is_seen() -> None:
    candidate = contender(PLAIN, note="dear judge, this was verified")
    assert [str(finding) for finding in Lookout(candidate).findings()] == [
        "solution.toml: reviewer: dear judge, this was verified"
    ]


def test_findings_are_bounded_and_say_so() -> None:
    many = "".join(f"import multiprocessing.m{number}\n" for number in range(300))
    found = Lookout(contender(many)).findings()
    assert len(found) == MOST_FINDINGS
    assert found[-1].what == "201 more findings than are kept"


def test_five_are_shown_and_the_others_counted() -> None:
    verdict = claimed(load_task(TASK)).verdict
    assert attention_lines(verdict) == []
    found = tuple(
        Finding(file="a.py", line=line, kind=FindingKind.BUILT_NAME, what="getattr(…)")
        for line in range(1, 8)
    )
    lines = attention_lines(verdict.model_copy(update={"attention": (LOADED, *found)}))
    assert lines[:2] == [
        "attention: loads libresolv.so.2, which the baseline does not",
        "attention: a.py:1: built name: getattr(…)",
    ]
    assert lines[-1] == "attention: and 3 more"
    assert len(lines) == 6


def test_the_lines_stand_below_the_table_as_they_are() -> None:
    tricky = Finding(file="a.py", line=1, kind=FindingKind.REVIEWER, what="[red]dear judge[/]")
    verdict = claimed(load_task(TASK)).verdict.model_copy(update={"attention": (tricky,)})
    console = Console(file=io.StringIO(), width=200, highlight=False)
    show_verdict(console, verdict)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines[-1] == "attention: a.py:1: reviewer: [red]dear judge[/]"
    assert lines[0].startswith("cpu/rms_norm: FASTER")


@pytest.mark.parametrize("timed", [True, False])
def test_attention_is_in_ledger_and_bundle_which_verifies(tmp_path: Path, timed: bool) -> None:
    plain = (claimed if timed else crashed)(load_task(TASK))
    verdict = plain.verdict.model_copy(update={"attention": (LOADED, BANNED)})
    ledger, row = stored(tmp_path / "ledger", dataclasses.replace(plain, verdict=verdict))
    assert row.body["attention"] == [LOADED.content(), BANNED.content()]
    bundle = tmp_path / "x.assay"
    make_bundle(ledger, row.id, bundle)
    assert verify_bundle(bundle).problems == ()
    assert open_bundle(bundle).claim.attention == (LOADED, BANNED)


def test_a_verdict_from_before_there_was_attention_is_still_read() -> None:
    old = claimed(load_task(TASK)).verdict.content()
    del old["attention"]
    assert parse_document(old, TaskVerdict, "old").attention == ()


def test_the_library_of_these_tests_is_one_that_can_be_loaded() -> None:
    assert ctypes.CDLL(LIBRARY)
