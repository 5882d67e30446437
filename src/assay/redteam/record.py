"""Trials in a ledger: a row for each as it ends, and found again by whoever goes on later."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assay.device import open_judging_device
from assay.device.environment import environment
from assay.device.environment import harness_hash
from assay.ledger import Ledger
from assay.ledger import Row
from assay.ledger import Writer
from assay.redteam.attack import Attack
from assay.redteam.attack import Twin
from assay.redteam.outcome import End
from assay.redteam.outcome import Fight
from assay.redteam.trial import Trial
from assay.redteam.trial import TwinTrial

TRIAL = "redteam-trial"
TWIN = "redteam-twin"
SUITE = "redteam"
"""Kinds of rows; the last closes a run and names the others by their ids."""


def stamp(device: str) -> dict[str, Any]:
    """Where trials are made and by which harness: what must agree for a row to count again."""
    here = environment()
    return {
        "device": device,
        "harness_hash": harness_hash(),
        "machine": {
            "host": here.host,
            "processor": here.processor,
            "cores": here.cores,
            "device": open_judging_device(device).identity.name,
        },
    }


class Record:
    """What is on record of trials on one device of this host, by this very harness."""

    def __init__(self, ledger: Ledger, device: str) -> None:
        self._device = device
        self._stamp = stamp(device)
        self._trials: dict[str, Row] = {}
        self._twins: dict[str, Row] = {}
        for row in _rows(ledger):
            if row.kind == TRIAL and self._is_ours(row.body):
                self._trials[row.body["attack"]] = row
            elif row.kind == TWIN and self._is_ours(row.body):
                self._twins[row.body["twin"]] = row

    def trial(self, attack: Attack) -> Trial | None:
        """The newest trial of an attack, unless it had no verdict."""
        row = self._trials.get(attack.name)
        if row is None or row.body["end"]["status"] is None:
            return None
        plain, end = Fight.read(row.body["plain"]), End.read(row.body["end"])
        return Trial(attack, self._device, plain, end, row.body["seconds"], row.id)

    def twin(self, twin: Twin) -> TwinTrial | None:
        """The newest judgement of a twin, unless it had no verdict."""
        row = self._twins.get(twin.name)
        if row is None or row.body["end"]["status"] is None:
            return None
        end = End.read(row.body["end"])
        return TwinTrial(twin, self._device, end, row.body["seconds"], row.id)

    def keep(self, writer: Writer, trial: Trial) -> Trial:
        """Put a trial on record; it comes back with the id of its row."""
        return replace(trial, ledger_id=self._append(writer, TRIAL, trial.content()).id)

    def keep_twin(self, writer: Writer, trial: TwinTrial) -> TwinTrial:
        return replace(trial, ledger_id=self._append(writer, TWIN, trial.content()).id)

    def close(self, writer: Writer, counts: Mapping[str, Any]) -> Row:
        """The row that closes a run."""
        return self._append(writer, SUITE, counts)

    def _append(self, writer: Writer, kind: str, content: Mapping[str, Any]) -> Row:
        return writer.append(kind, {**self._stamp, **content})

    def _is_ours(self, body: Mapping[str, Any]) -> bool:
        same = ("device", "harness_hash")
        return (
            all(body[key] == self._stamp[key] for key in same)
            and body["machine"]["host"] == self._stamp["machine"]["host"]
        )


def _rows(ledger: Ledger) -> Iterator[Row]:
    """All rows, the newest last; none where there is no ledger yet."""
    if not ledger.path.is_dir() or not any(ledger.path.iterdir()):
        return
    kept = [row for row in ledger.rows() if row.kind in {TRIAL, TWIN}]
    yield from sorted(kept, key=lambda row: row.time)
