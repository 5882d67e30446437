"""Afterwards: what is looked into once the clock has spoken, and how a verdict says it."""

from __future__ import annotations

from collections.abc import Iterable

from assay.judge.accounts import labels_of
from assay.spec.ablation import Ablation
from assay.spec.account import DeviceAccount
from assay.spec.verdict import TaskVerdict


def with_account(verdict: TaskVerdict, account: DeviceAccount) -> TaskVerdict:
    """The verdict with what ran on the device; where that is not known, a label says so."""
    labels = _more(verdict.labels, labels_of(account))
    return verdict.model_copy(update={"account": account, "labels": labels})


def with_ablation(verdict: TaskVerdict, ablation: Ablation) -> TaskVerdict:
    """The verdict with a label for every kernel that its answers do without."""
    labels = _more(verdict.labels, (decoy.label for decoy in ablation.decoys))
    return verdict.model_copy(update={"ablation": ablation, "labels": labels})


def _more(labels: Iterable[str], further: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*labels, *further)))
