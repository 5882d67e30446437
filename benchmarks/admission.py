"""Can the shipped tasks fail? Each is admitted again, and what became of its mutants put on record.

`python -m benchmarks.admission` mutates every shipped task's reference, tries the mutants on every
row, and appends a row for each task to `evidence/ledger`.
"""

from __future__ import annotations

from assay.task import load_task
from assay.task.admit import admit
from benchmarks.record import record
from benchmarks.repeats import TASKS


def main() -> int:
    sound = True
    for name in TASKS:
        admission = admit(load_task(name))
        sound = sound and admission.admitted
        row = record({"name": "admission", **admission.content()})
        print(
            f"{name}: {'admitted' if admission.admitted else 'refused'}, "
            f"{admission.killed} of {len(admission.mutants)} mutants killed, "
            f"{admission.declared_equivalent} declared equivalent  ledger id {row}",
            flush=True,
        )
    return 0 if sound else 1


if __name__ == "__main__":
    raise SystemExit(main())
