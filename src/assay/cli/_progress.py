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
    """A bar that is gone when the work is done; none at all where nobody watches."""
    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        line = bar.add_task("starting", total=None)

        def show(progress: Progress) -> None:
            bar.update(
                line, completed=progress.done, total=progress.total, description=progress.label
            )

        yield show
