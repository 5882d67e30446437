"""Which wheels a pack holds and where they go: ours, and those that its baselines ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.pack.carried import CarriedBaseline
from assay.pack.carried import CarriedTask
from assay.pack.client import Choice
from assay.pack.client import Client
from assay.pack.manifest import EXTRA
from assay.pack.manifest import SITE
from assay.pack.manifest import HostPackage
from assay.pack.manifest import PackedBaseline
from assay.pack.manifest import PackedTask
from assay.pack.resolve import Resolution
from assay.pack.resolve import name_of
from assay.pack.resolve import names_of
from assay.pack.resolve import own_requirements
from assay.pack.resolve import resolve
from assay.spec.errors import UsageError

# A GPU host has a torch that fits its driver, and these came with it.
HOST_PACKAGES = ("torch", "triton", "numpy")
# The same, of torch builds for CUDA; only baselines ask for them.
CUDA_PACKAGES = ("cuda-python", "cuda-bindings", "cuda-pathfinder")
# Clocks and leases of NVIDIA devices; pure Python, a third of a MiB.
DEVICE_PACKAGES = ("nvidia-ml-py>=12",)
_NEVER_CARRIED = "torch"


@dataclass(frozen=True)
class Chosen:
    resolution: Resolution
    own: frozenset[str]
    """What Assay itself needs, by name."""
    without: frozenset[str]

    @property
    def choices(self) -> tuple[Choice, ...]:
        return self.resolution.choices

    @property
    def host(self) -> tuple[HostPackage, ...]:
        return self.resolution.host

    def root_of(self, name: str) -> str:
        """The folder of the pack that a wheel goes to."""
        return SITE if name in self.own else EXTRA

    def packed_baseline(self, task: PackedTask, baseline: CarriedBaseline) -> PackedBaseline:
        """The baseline as the manifest names it: what it asks for, and what it does not get."""
        lock = baseline.lock
        files = () if baseline.files is None else lock.files
        needs = self.resolution.reached(lock.requires)
        versions = {choice.name: choice.version for choice in self.choices}
        differs = [
            f"{name_of(need)} {versions[name_of(need)]}, and {need.specifier} was asked for"
            for need in needs
            if name_of(need) in versions
            and not need.specifier.contains(versions[name_of(need)], prereleases=True)
        ]
        return PackedBaseline(
            task=task.name,
            baseline=baseline.name,
            path=f"{task.path}/{baseline.path}",
            package=lock.package,
            version=lock.version,
            lock_hash=baseline.lock_hash,
            carried=baseline.files is not None,
            files=len(files),
            bytes=sum(file.bytes for file in files),
            requires=tuple(sorted({str(need) for need in needs})),
            lacks=tuple(sorted({name_of(need) for need in needs} & self.without)),
            differs=tuple(differs),
        )


def choose_wheels(
    client: Client,
    tasks: Sequence[CarriedTask],
    *,
    assume: Sequence[str],
    without: Sequence[str],
    more: Sequence[str],
) -> Chosen:
    """The wheels of our own requirements, of more and of baselines, less what the host has.

    A version that `more` names is taken in place of the one that a baseline asks for: locks of
    several releases rarely agree, and the host takes one version of each.
    """
    wanted, left_out = names_of(more), names_of(without)
    if _NEVER_CARRIED in wanted:
        raise UsageError(f"{_NEVER_CARRIED} is always the host's own", where="--with")
    asked = [
        text
        for task in tasks
        for baseline in task.baselines
        if baseline.files is not None
        for text in baseline.lock.requires
    ]
    cuda = CUDA_PACKAGES if asked else ()
    own = [*own_requirements(), *DEVICE_PACKAGES]
    instead = [text for text in more if names_of([text]) & names_of(asked)]
    resolution = resolve(
        [*own, *(text for text in more if text not in instead)],
        client,
        assumed=names_of([*HOST_PACKAGES, *cuda, *assume]) - wanted,
        without=left_out,
        optional=[*instead, *(text for text in asked if not names_of([text]) & wanted)],
    )
    reached = frozenset(name_of(need) for need in resolution.reached(own))
    return Chosen(resolution, reached, left_out)
