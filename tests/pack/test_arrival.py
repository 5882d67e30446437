"""On arrival: the pack as a host runs it, in a process with a clean environment."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.pack.arrival import complaint
from assay.pack.verify import verify
from tests.pack.making import OTHER_PYTHON
from tests.pack.making import PLATFORM
from tests.pack.making import PYTHON
from tests.pack.making import arrive


def rewrite(pack: Path, **changes: Any) -> None:
    manifest = json.loads((pack / "manifest.json").read_text())
    (pack / "manifest.json").write_text(json.dumps(manifest | changes))


def test_it_runs_its_own_modules_and_knows_its_tasks_by_name(copy: Path) -> None:
    ran = arrive(copy, "task", "list", "--json", cwd=copy)
    assert (ran.returncode, ran.stderr) == (0, "")
    listed = {entry["address"]: entry["path"] for entry in json.loads(ran.stdout)}
    assert listed["cpu/rms_norm"] == str(copy / "site/assay/tasks/cpu/rms_norm")
    assert listed["own/my_op"] == "tasks/own/my_op"
    # Running it has changed nothing.
    assert verify(copy).problems == ()


def test_it_runs_from_anywhere_and_a_folder_called_torch_is_not_torch(
    copy: Path, tmp_path: Path
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("raise SystemExit('taken in')\n")
    ran = arrive(copy, "task", "show", str(copy / "tasks/own/my_op"), cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("own/my_op: ")


def test_without_a_verb_it_is_the_doctor_and_evidence_stays_in_the_pack(
    copy: Path, tmp_path: Path
) -> None:
    shown = arrive(copy, cwd=tmp_path).stdout.splitlines()
    assert shown[0].split()[:2] == ["what", "found"]
    ledger = next(line for line in shown if line.split()[:2] == ["OK", "ledger"])
    assert str(copy / "evidence/ledger") in ledger


def test_it_verifies_itself(copy: Path, tmp_path: Path) -> None:
    (copy / "extra/site-packages/tiny.py").write_text("")
    ran = arrive(copy, "pack", "--verify", str(copy), cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (1, "")
    first, last = ran.stdout.splitlines()
    assert first.startswith("problem extra/site-packages/tiny.py: 0 bytes, and ")
    assert last.endswith(", 1 problems")


def test_it_finds_itself_by_way_of_a_link(copy: Path, tmp_path: Path) -> None:
    rewrite(copy, python=OTHER_PYTHON)
    link = tmp_path / "bin"
    link.mkdir()
    (link / "run").symlink_to(copy / "run")
    assert f"this pack is for Python {OTHER_PYTHON}" in arrive(link, cwd=tmp_path).stderr


def test_another_python_is_one_line(copy: Path, tmp_path: Path) -> None:
    rewrite(copy, python=OTHER_PYTHON)
    ran = arrive(copy, "task", "list", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (69, "")
    assert ran.stderr == (
        f"assay: this pack is for Python {OTHER_PYTHON}, and this is {PYTHON} (set PYTHON to a "
        f"python{OTHER_PYTHON} that has torch, or pack again with --python {PYTHON})\n"
    )


def test_a_python_without_torch_is_one_line(copy: Path, tmp_path: Path) -> None:
    bare = tmp_path / "python-without-site"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    rewrite(copy, assumed=[{"name": "torch", "needed": True, "least": "2.9"}])
    ran = arrive(copy, cwd=tmp_path, python=str(bare))
    assert (ran.returncode, ran.stdout) == (69, "")
    assert ran.stderr.startswith("assay: the host's own torch is needed, and ")
    assert ran.stderr.endswith(" has none (set PYTHON to a python that has torch 2.9 or newer)\n")


def test_no_python_at_all_is_one_line(copy: Path, tmp_path: Path) -> None:
    ran = arrive(copy, cwd=tmp_path, python="python-of-nowhere")
    assert (ran.returncode, ran.stdout) == (69, "")
    assert ran.stderr == (
        "assay: no python-of-nowhere here (set PYTHON to the python that has torch)\n"
    )


def host(**changes: Any) -> dict[str, Any]:
    fits: dict[str, Any] = {"python": PYTHON, "platforms": [PLATFORM], "assumed": []}
    return fits | changes


def test_a_host_that_fits_is_not_complained_of() -> None:
    old = {"name": "pytest", "needed": True, "least": "1.0"}
    no_bound = {"name": "pytest", "needed": True, "least": None}
    # A module without metadata is there all the same.
    bare = {"name": "json", "needed": True, "least": "9"}
    unneeded = {"name": "nowhere-to-be-found", "needed": False, "least": None}
    assert complaint(host(assumed=[old, no_bound, bare, unneeded])) == ""


def test_another_processor_is_named() -> None:
    said = complaint(host(platforms=["manylinux_2_28_riscv64"]))
    assert said == (
        f"this pack is for manylinux_2_28_riscv64, and this is {platform.machine()} "
        "(pack again with --platform)"
    )


def test_an_older_package_is_named_with_the_version_that_is_needed() -> None:
    said = complaint(host(assumed=[{"name": "pytest", "needed": True, "least": "999.1"}]))
    assert said.startswith("the host's own pytest is ")
    assert "and 999.1 or newer is needed" in said


@pytest.mark.parametrize(
    ("found", "least", "enough"),
    [
        ("2.9.0a0+cu130", "2.9", True),
        ("2.9", "2.9.0", True),
        ("2.10.1", "2.9", True),
        ("2.8.1", "2.9", False),
        ("1.26.4", "1.26.10", False),
    ],
)
def test_versions_compare_by_their_numbers(
    monkeypatch: pytest.MonkeyPatch, found: str, least: str, enough: bool
) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: found)
    said = complaint(host(assumed=[{"name": "torch", "needed": True, "least": least}]))
    assert (said == "") is enough
