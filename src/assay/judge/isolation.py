"""Labels of a verdict: what did not hold its runners and its builds."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping


def isolation_labels(
    held: Mapping[str, bool], off: Collection[str], builds: Iterable[Mapping[str, bool]] = ()
) -> tuple[str, ...]:
    """What a runner's report says, beside what was switched off, and what builds lacked more.

    >>> isolation_labels({"namespaces": True, "landlock": False, "seccomp": False}, ["seccomp"])
    ('defence off: seccomp', 'weaker isolation: no landlock')
    """
    labels = [f"defence off: {part}" for part in off]
    missing = [part for part, holds in held.items() if not holds and part not in off]
    if missing:
        labels.append(f"weaker isolation: no {', no '.join(missing)}")
    lacking = [part for report in builds for part, holds in report.items() if not holds]
    more = [part for part in dict.fromkeys(lacking) if held.get(part, False)]
    if more:
        labels.append(f"weaker isolation of builds: no {', no '.join(more)}")
    return tuple(labels)
