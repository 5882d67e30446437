"""Which wheels travel: what we ask for, what that asks for, and so on, less the host's own.

pip chooses every version. The walk from one package to the next is ours, for two reasons: what the
host has must not even be looked for (torch alone is larger than any pack), and pip reads the
markers of a requirement for the Python that it runs under, not for the target's.
"""

from __future__ import annotations

import importlib.metadata
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from assay.pack.client import Choice
from assay.pack.client import Client
from assay.pack.manifest import HostPackage
from assay.pack.target import Target
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from assay.spec.errors import quote

_DISTRIBUTION = "assay-kernels"
# A round per step from package to package; ours take three.
_MOST_ROUNDS = 30
_LOWER_BOUNDS = {">=", "==", "~="}


@dataclass(frozen=True)
class Resolution:
    choices: tuple[Choice, ...]
    host: tuple[HostPackage, ...]
    target: Target

    def reached(self, wanted: Iterable[str]) -> list[Requirement]:
        """What is wanted here, and all that the chosen wheels ask for on its behalf."""
        return _reached([_parsed(text) for text in wanted], self.choices, self.target)


def own_requirements() -> list[str]:
    """What our package asks for, as its metadata says."""
    try:
        return importlib.metadata.requires(_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        raise UnavailableError(
            "this copy of assay does not know what it needs",
            next_step="pack from an environment where it was installed with pip",
        ) from None


def names_of(requirements: Iterable[str]) -> frozenset[str]:
    """The names that requirements are about, each in its one spelling."""
    return frozenset(name_of(_parsed(text)) for text in requirements)


def resolve(
    wanted: Sequence[str],
    client: Client,
    *,
    assumed: frozenset[str],
    without: frozenset[str] = frozenset(),
    optional: Sequence[str] = (),
) -> Resolution:
    """The wheels that meet what is wanted, and what the host must bring for them to work.

    What is only asked for on behalf of `optional` travels as well, but the host need not have it.
    """
    needed = [_parsed(text) for text in wanted]
    roots = [*needed, *(_parsed(text) for text in optional)]
    needs = _applicable(roots, client.target, frozenset())
    asked: set[Requirement] = set()
    choices: list[Choice] = []
    for _ in range(_MOST_ROUNDS):
        travelling = {need for need in needs if name_of(need) not in assumed | without}
        if travelling == asked:
            host = _host(_reached(needed, choices, client.target), assumed)
            return Resolution(tuple(choices), host, client.target)
        asked = travelling
        names = {name_of(need) for need in asked}
        chosen = client.choose(sorted(map(str, asked)))
        choices = [choice for choice in chosen if choice.name in names]
        needs = _reached(roots, choices, client.target)
    raise UsageError(
        "the packages ask for one another's versions in a circle",
        next_step="fix one of them with --with NAME==VERSION",
    )


def _reached(
    roots: Sequence[Requirement], choices: Sequence[Choice], target: Target
) -> list[Requirement]:
    """The roots, what the choices for these ask for, and so on."""
    found = dict.fromkeys(_applicable(roots, target, frozenset()))
    while True:
        extras: defaultdict[str, set[str]] = defaultdict(set)
        for need in found:
            extras[name_of(need)] |= need.extras
        before = len(found)
        for choice in choices:
            if choice.name in extras:
                needs = [_parsed(text) for text in choice.requires]
                its_extras = frozenset(extras[choice.name])
                found |= dict.fromkeys(_applicable(needs, target, its_extras))
        if len(found) == before:
            return list(found)


def _applicable(
    needs: Iterable[Requirement], target: Target, extras: frozenset[str]
) -> list[Requirement]:
    """The requirements whose markers hold on the target, without those markers."""
    found = []
    for need in needs:
        if need.marker is None or _holds(need.marker, target, extras):
            bare = Requirement(str(need))
            bare.marker = None
            found.append(bare)
    return found


def _holds(marker: Marker, target: Target, extras: frozenset[str]) -> bool:
    return any(marker.evaluate({**target.markers, "extra": extra}) for extra in extras or {""})


def _host(needs: Iterable[Requirement], assumed: frozenset[str]) -> tuple[HostPackage, ...]:
    by_name = defaultdict(list)
    for need in needs:
        by_name[name_of(need)].append(need)
    return tuple(
        HostPackage(name=name, needed=name in by_name, least=_least(by_name[name]))
        for name in sorted(assumed)
    )


def _least(needs: Iterable[Requirement]) -> str | None:
    bounds = [
        specifier.version.removesuffix(".*")
        for need in needs
        for specifier in need.specifier
        if specifier.operator in _LOWER_BOUNDS
    ]
    return max(bounds, key=Version, default=None)


def name_of(need: Requirement) -> str:
    """The one spelling of the name that a requirement is about."""
    return canonicalize_name(need.name)


def _parsed(text: str) -> Requirement:
    try:
        need = Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(
            f"{quote(text)} is no requirement: {quote(str(error).partition(chr(10))[0])}",
            next_step="write NAME or NAME>=VERSION",
        ) from None
    if need.url is not None:
        raise UsageError(
            f"{quote(text)} names an address, which a pack does not hold",
            next_step="put the wheel into a folder and name that with --wheels",
        )
    return need
