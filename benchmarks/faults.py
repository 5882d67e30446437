"""Fault injection by the hundred, with its outcome put on record.

`python -m benchmarks.faults` runs the suites that break things on purpose (kills, torn writes, full
and read-only disks, changed bytes, malformed files, solutions that misbehave, hosts that lack
things), the long tests included, and appends how many
tests of each passed to `evidence/ledger`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as Xml
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.record import record

SUITES = {
    "ledger": ["tests/ledger"],
    "documents": ["tests/spec"],
    "bad-solutions": ["tests/device/cpu/test_process.py", "tests/judge/test_referee.py"],
    "poor-hosts": [
        "tests/device/cpu/test_without_namespaces.py",
        "tests/cli/test_judge.py",
        "tests/judge/test_build.py",
    ],
    "referee-kills": ["tests/task/test_killed_referee.py"],
}


def run(paths: list[str]) -> dict[str, Any]:
    """All tests below some paths, long ones too: how many there were and how they ended."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *paths]
        subprocess.run(command, check=False)
        suite = Xml.parse(report).getroot()[0]
    counts = {key: int(suite.attrib[key]) for key in ("tests", "failures", "errors", "skipped")}
    skipped = [case.attrib["name"] for case in suite if case.find("skipped") is not None]
    problems = {
        case.attrib["name"]: problem.attrib.get("message", "").splitlines()[:1]
        for case in suite
        for problem in (*case.findall("failure"), *case.findall("error"))
    }
    return {
        **counts,
        "seconds": round(float(suite.attrib["time"])),
        "skipped_tests": skipped,
        "problems": problems,
    }


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", action="append", choices=list(SUITES))
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    sound = True
    for name in chosen.suite or SUITES:
        found = run(SUITES[name])
        sound = sound and not (found["failures"] or found["errors"])
        row = record({"name": "faults", "suite": name, **found})
        print(f"{name}: {found['tests']} tests, {found['failures']} failed  ledger id {row}")
    return 0 if sound else 1


if __name__ == "__main__":
    raise SystemExit(main())
