"""Lanes against each other: the latency lane decides with the throughput lane, never against it."""

from __future__ import annotations

from collections.abc import Iterable

from assay.spec.status import Status


def reconcile(throughput: Status, others: Iterable[Status]) -> Status:
    """The status of a row whose lanes are all in.

    A lane that calls the opposite makes the row UNCLEAR, not fast. A lane that cannot tell, or
    calls it the same, leaves the throughput lane's word: host-bound work can hide in latency.
    """
    opposite = {Status.FASTER: Status.SLOWER, Status.SLOWER: Status.FASTER}.get(throughput)
    return Status.UNCLEAR if opposite is not None and opposite in set(others) else throughput
