"""A progress bar on stderr, fed by whoever works."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as Bar

from assay.judge.sitting import Progress


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Callable[[Progress], None]]:
    """A bar that is gone when the work is done; none at all where nobody watches.

    It is drawn when progress is reported and at no other time: a thread that draws it would take
    the interpreter from the referee in the middle of a timed batch.
    """
    console = Console(stderr=True)
    hidden = quiet or not console.is_terminal
    with Bar(console=console, transient=True, auto_refresh=False, disable=hidden) as bar:
        line = bar.add_task("starting", total=None)

        def show(progress: Progress) -> None:
            bar.update(
                line, completed=progress.done, total=progress.total, description=progress.label
            )
            bar.refresh()

        yield show
