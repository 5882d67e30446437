from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from assay.device import baselines
from assay.device import doctor
from assay.device.baselines import missing_packages
from assay.device.baselines import wheel_baselines
from assay.device.doctor import Mark
from assay.spec.lock import BaselineLock
from assay.spec.lock import LockedEntry
from assay.spec.noun import sha256_hex
from assay.spec.source import SourceFile

OPS = b"def f(): ...\n"


def make_baseline(folder: Path, *requires: str) -> Path:
    """A baseline's folder, ready to run as far as its files go."""
    lock = BaselineLock(
        package="waves",
        version="0.5",
        wheel="waves-0.5-py3-none-any.whl",
        wheel_sha256="0" * 64,
        entries={"f": LockedEntry(entry="waves:f")},
        files=(SourceFile(path="waves.py", sha256=sha256_hex(OPS), bytes=len(OPS)),),
        requires=requires,
    )
    (folder / "snapshot").mkdir(parents=True)
    (folder / "snapshot/waves.py").write_bytes(OPS)
    (folder / "baseline.lock").write_text(json.dumps(lock.content()))
    return folder


def test_each_is_ready_or_stands_by_what_it_lacks(tmp_path: Path) -> None:
    make_baseline(tmp_path / "s/a/baselines/up", "pytest>=1")
    make_baseline(tmp_path / "s/b/baselines/up", "nowhere-to-be-found")
    missing = make_baseline(tmp_path / "s/c/baselines/up")
    (missing / "snapshot/waves.py").unlink()
    (missing / "snapshot").rmdir()
    changed = make_baseline(tmp_path / "s/d/baselines/up")
    (changed / "snapshot/waves.py").write_bytes(OPS + b"\n")
    (make_baseline(tmp_path / "s/e/baselines/up") / "snapshot/waves.py").unlink()
    (make_baseline(tmp_path / "s/f/baselines/up") / "baseline.lock").write_text("{")
    ready, wanting = wheel_baselines([tmp_path, tmp_path / "no-such-folder"])
    assert ready == ["s/a/up"]
    assert wanting == {
        "no nowhere-to-be-found here": ["s/b/up"],
        "no snapshot": ["s/c/up"],
        "a snapshot that differs from its lock": ["s/d/up"],
        "files of the snapshot missing": ["s/e/up"],
        "lock cannot be read": ["s/f/up"],
    }


def test_what_is_asked_for_in_turn_counts_and_what_torch_asks_for_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asks = {
        "tables": ["chairs", 'sofas; extra == "more"', 'old; python_version < "3"'],
        "torch": ["nothing-of-that"],
    }

    def requires(name: str) -> list[str]:
        if name in asks:
            return asks[name]
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.requires", requires)
    # Another version than was asked for will do.
    assert missing_packages(["tables==99", "torch==99"]) == {"chairs"}
    assert missing_packages(["tables[more]"]) == {"chairs", "sofas"}
    # json is there without being a distribution.
    assert missing_packages(["json", "not a requirement"]) == set()


def test_bindings_without_the_empty_package_that_asks_for_them_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert missing_packages(["cuda-python-of-nowhere"]) == {"cuda-python-of-nowhere"}
    monkeypatch.setitem(baselines._MODULES, "cuda-python", "bindings_of_a_test")
    assert missing_packages(["cuda-python"]) == {"cuda-python"}
    (tmp_path / "bindings_of_a_test.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert missing_packages(["cuda-python"]) == set()


def test_a_program_of_the_system_will_do_for_a_package_that_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "_PROGRAMS", {"tool-of-a-test"})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing_packages(["tool-of-a-test>=1"]) == {"tool-of-a-test"}
    (tmp_path / "tool-of-a-test").touch(mode=0o755)
    assert missing_packages(["tool-of-a-test>=1"]) == set()


@pytest.mark.parametrize(
    ("ready", "wanting", "mark", "found"),
    [
        ([], {}, Mark.INFO, "none out of a wheel"),
        (["s/a", "s/b"], {}, Mark.OK, "ready: s/a, s/b"),
        (["s/a"], {"no snapshot": ["s/b"]}, Mark.INFO, "ready: s/a; no snapshot: s/b"),
    ],
)
def test_the_doctor_has_a_line_for_them(
    monkeypatch: pytest.MonkeyPatch,
    ready: list[str],
    wanting: dict[str, list[str]],
    mark: Mark,
    found: str,
) -> None:
    monkeypatch.setattr(doctor, "wheel_baselines", lambda: (ready, wanting))
    finding = doctor._baselines()
    assert (finding.mark, finding.found) == (mark, found)
    assert bool(finding.next_step) is bool(wanting)
