from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.ledger import Ledger
from assay.ledger import verify

ROOT = Path(__file__).parents[2]
FOREVER = 10**9


class Victims:
    """Children of one process that append to one ledger."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def start(self, seed: int, count: int) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seed} {count}\n".encode())
        self._process.stdin.flush()
        word, pid = self._line().split()
        assert word == "pid"
        return int(pid)

    def next_row(self) -> str:
        return self._line().removeprefix("row ")

    def acknowledged(self) -> list[str]:
        """What the child says before its end."""
        return list(iter(self.next_row, "end"))

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode()
        assert line.endswith("\n"), "the parent of the victims died"
        return line.strip()


@contextmanager
def victims(ledger: Ledger) -> Iterator[Victims]:
    command = [sys.executable, "-m", "tests.ledger.crash_writer", str(ledger.path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        yield Victims(process)
        assert process.stdin is not None
        process.stdin.close()


def kill_often(ledger: Ledger, kills: int, seed: int) -> set[str]:
    """Kill a writer again and again; return every row that was acknowledged."""
    chance = random.Random(seed)
    known: set[str] = set()
    with victims(ledger) as children:
        for number in range(kills):
            pid = children.start(chance.randrange(2**32), FOREVER)
            if number % 2:  # else the kill may land in the opening and the repair
                known.add(children.next_row())
            time.sleep(chance.choice((0.0, 0.002, 0.02)) * chance.random())
            os.kill(pid, signal.SIGKILL)
            known.update(children.acknowledged())
            if ledger.path.exists() and any(ledger.path.glob("*.jsonl")):
                report = verify(ledger)
                assert report.problems == (), number
                assert known <= {row.id for row in ledger.rows("note")}, number
    return known


def test_no_acknowledged_row_is_lost_to_twenty_five_kills(ledger: Ledger) -> None:
    assert len(kill_often(ledger, kills=25, seed=1)) >= 12


@pytest.mark.long
def test_no_acknowledged_row_is_lost_to_five_hundred_kills(ledger: Ledger) -> None:
    known = kill_often(ledger, kills=500, seed=2)

    assert len(known) >= 250
    # The kills did land inside writes.
    assert any(".torn-" in path.name for path in ledger.path.iterdir())


def test_two_processes_at_once_write_two_segments_and_lose_nothing(ledger: Ledger) -> None:
    with victims(ledger) as one, victims(ledger) as two:
        one.start(1, 200)
        two.start(2, 200)
        rows = one.acknowledged() + two.acknowledged()

    report = verify(ledger)
    assert report.ok
    assert len(rows) == 400
    assert set(rows) == {row.id for row in ledger.rows("note")}
    for segment in ledger.segments():
        # A segment has one writer: its rows are all of one seed.
        seeds = {row.body["seed"] for row in ledger.rows("note") if row.segment == segment.name}
        assert len(seeds) == 1
