"""Figures in the docs are the ledger's; commands in the docs exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.cli import _edge
from assay.judge.evidence import recheck
from assay.ledger import Ledger
from assay.ledger import verify
from benchmarks.record import EVIDENCE
from benchmarks.tables import DOCUMENTS
from benchmarks.tables import renewed

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_tables_of_a_document_are_what_the_ledger_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    text = Path(name).read_text()
    assert text == renewed(text), "run `make tables` and commit the difference"


def test_the_committed_evidence_verifies_and_its_verdicts_follow_from_their_samples() -> None:
    report = verify(Ledger(ROOT / EVIDENCE), recompute=recheck)
    assert report.problems == ()
    assert report.rows > 0


def test_every_verb_that_the_readme_shows_exists(capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.findall(
        r"^    assay ((?:[a-z]+ ?)+)", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    assert shown
    for line in shown:
        words = line.split()
        depth = 2 if words[0] in {"ledger", "task", "bundle"} else 1
        assert _edge.run([*words[:depth], "--help"]) == 0
    capsys.readouterr()


def test_no_committed_text_names_a_path_of_the_machine_it_was_written_on() -> None:
    for name in (*DOCUMENTS, "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "pyproject.toml"):
        assert str(ROOT.parent) + "/" not in (ROOT / name).read_text()
