"""`config.toml` of a KDA-Pilot task: what of it matters to us."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.exchange.form import read_text

CONFIG = "config.toml"


@dataclass(frozen=True)
class Config:
    slug: str
    summary: str
    arch: str
    destination: bool
    """Whether outputs are given, to be written."""
    baseline: tuple[str, str]
    """File and function; empty where the task does not say."""
    candidate: tuple[str, str]
    exact: bool


def read_config(folder: Path) -> Config:
    path = folder / CONFIG
    where = quote(path)
    try:
        content = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not TOML: {quote(error)}", where=where) from None
    task, build = _table(content, "task"), _table(content, "build")
    slug = str(task.get("slug", folder.resolve().name))
    return Config(
        slug=slug,
        summary=str(task.get("family", slug)),
        arch=str(task.get("arch", "")),
        destination=build.get("destination_passing_style") is not False,
        baseline=_entry(build, "baseline_entry_point"),
        candidate=_entry(build, "candidate_entry_point"),
        exact=_table(content, "correctness").get("bitwise_required") is True,
    )


def _table(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = content.get(key, {})
    return table if isinstance(table, Mapping) else {}


def _entry(build: Mapping[str, Any], key: str) -> tuple[str, str]:
    path, _, function = str(build.get(key, "")).partition("::")
    return path, function
