"""`assay task admit`: can this task fail?"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from assay.cli._options import AsJson
from assay.cli._options import DeviceName
from assay.cli._progress import progress_bar
from assay.spec.errors import ExitStatus
from assay.spec.errors import quote
from assay.task import load_task
from assay.task.admission import Admission
from assay.task.admission import write_admission
from assay.task.admit import admit as admit_task


def admit(
    address: Annotated[str, typer.Argument(metavar="TASK", help="An address or a folder.")],
    device: DeviceName = None,
    as_json: AsJson = False,
) -> None:
    """Mutate a task's reference and see every mutant fall, on every row."""
    folder = load_task(address)
    with progress_bar(as_json) as report:
        admission = admit_task(folder, report, device=device)
    path = write_admission(folder, admission)
    if as_json:
        print(json.dumps(admission.content(), indent=2))
    else:
        _show(admission)
        print(f"written to {quote(path)}")
    if not admission.admitted:
        raise typer.Exit(ExitStatus.NO)


def _show(admission: Admission) -> None:
    word = "admitted" if admission.admitted else "REFUSED"
    print(
        f"{admission.task}: {word}  {admission.killed} of {len(admission.mutants)} mutants killed, "
        f"{admission.declared_equivalent} declared equivalent"
    )
    for fate in admission.mutants:
        if fate.equivalent is not None:
            print(f"equivalent  {fate.mutant}: {fate.equivalent}")
    for problem in (*admission.survivors, *admission.idle_inputs, *admission.flat_axes):
        print(f"hole        {problem}")
