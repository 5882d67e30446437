"""Site and Suspect: where a candidate launches or calls a kernel, and the sources without it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Site:
    """A span of bytes of one source, and what may stand there instead."""

    path: str
    line: int
    kernel: str
    start: int
    end: int
    nothing: bytes
    """An expression of the same type that does nothing."""
    trap: bytes
    """One that ends the process, to show whether the place is ever reached."""
    is_launch: bool = True
    known: bool = True
    """Whether the name is the kernel's own, and not that of a variable that holds one."""


@dataclass(frozen=True)
class Suspect:
    """One kernel, with every place that launches or calls it: needed at one is needed."""

    kernel: str
    sites: tuple[Site, ...]

    @property
    def where(self) -> str:
        return ", ".join(f"{site.path}:{site.line}" for site in self.sites)

    def left_out(self, sources: Mapping[str, bytes]) -> dict[str, bytes]:
        return self._with(sources, trap=False)

    def trapped(self, sources: Mapping[str, bytes]) -> dict[str, bytes]:
        return self._with(sources, trap=True)

    def _with(self, sources: Mapping[str, bytes], *, trap: bool) -> dict[str, bytes]:
        changed = dict(sources)
        end = {path: len(content) for path, content in sources.items()}
        # From the end on, so that places stay true; a call inside of another goes with it.
        for site in sorted(self.sites, key=lambda site: (site.end, -site.start), reverse=True):
            if site.end > end[site.path]:
                continue
            whole = changed[site.path]
            text = site.trap if trap else site.nothing
            changed[site.path] = whole[: site.start] + text + whole[site.end :]
            end[site.path] = site.start
        return changed


def suspects(sites: Iterable[Site]) -> list[Suspect]:
    """By kernel, launches first; a site whose kernel has no name of its own stands alone."""
    groups: dict[object, list[Site]] = {}
    for site in sorted(sites, key=lambda site: not site.is_launch):
        groups.setdefault(site.kernel if site.known else site, []).append(site)
    return [Suspect(group[0].kernel, tuple(group)) for group in groups.values()]
