"""The one edge where errors become a line on stderr and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from assay.cli import bundle
from assay.cli import ledger
from assay.cli import task
from assay.cli.admit import admit
from assay.cli.demo import demo
from assay.cli.doctor import doctor
from assay.cli.judge import judge
from assay.cli.pack import pack
from assay.cli.redteam import redteam
from assay.cli.sanitize import sanitize
from assay.cli.schema import schema
from assay.cli.survey import survey
from assay.spec.errors import AssayError
from assay.spec.errors import ExitStatus
from assay.spec.errors import quote

app = typer.Typer(
    name="assay",
    help="Evidence-first GPU-kernel optimization.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(demo)
app.command()(judge)
app.command()(doctor)
app.command()(pack)
app.command()(redteam)
app.command()(sanitize)
app.command()(schema)
app.command()(survey)
task.app.command()(admit)
app.add_typer(task.app, name="task")
app.add_typer(bundle.app, name="bundle")
app.add_typer(ledger.app, name="ledger")


# typer carries its own copy of click in newer releases and imports click in older ones; the base
# of its BadParameter is click's UsageError in both.
_MisuseOfCommandLine: type[BaseException] = typer.BadParameter.__bases__[0]


@app.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    """Find the kernel that holds a model back, make it faster, prove it."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(ExitStatus.MISUSE)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; never raises for a user's mistake."""
    command = typer.main.get_command(app)
    try:
        status = command.main(list(arguments), prog_name="assay", standalone_mode=False)
    except AssayError as error:
        return _complain(str(error), error.exit_status)
    except _MisuseOfCommandLine as error:
        return _complain(f"{quote(error)} (see assay --help)", ExitStatus.MISUSE)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", ExitStatus.INTERRUPTED)
    except BrokenPipeError:
        # The reader went away (`assay … | head`): not an error of ours. Point stdout elsewhere so
        # that the interpreter's last flush does not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.YES
    except OSError as error:
        where = f"{quote(error.filename)}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}", ExitStatus.INPUT_OUTPUT)
    # Newer typer turns an interrupt into this status by itself, without a word.
    if status == ExitStatus.INTERRUPTED:
        return _complain("interrupted", ExitStatus.INTERRUPTED)
    return int(status or 0)


def _complain(line: str, status: ExitStatus) -> ExitStatus:
    print(f"assay: {line}", file=sys.stderr)
    return status


def main() -> None:
    sys.exit(run(sys.argv[1:]))
