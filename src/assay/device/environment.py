"""Reads the Environment of this process without importing anything heavy."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import platform
import re
from pathlib import Path

import assay
from assay.spec.environment import Environment

_PACKAGES = (
    "torch",
    "triton",
    "numpy",
    "scipy",
    "pydantic",
    "sglang",
    "vllm",
    "flashinfer-python",
)

SUFFIXES = frozenset({".py", ".toml", ".json", ".cpp", ".cu", ".cuh", ".h"})
_WRITTEN = frozenset({"evidence", "__pycache__"})


def environment() -> Environment:
    return Environment(
        host=host_digest(),
        system=f"{platform.system()} {platform.release()}",
        machine=platform.machine() or "unknown",
        processor=processor_name(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        python=platform.python_version(),
        assay=assay.__version__,
        packages=_installed(),
    )


@functools.cache
def harness_hash() -> str:
    """Hash of the package's own sources of every language, attacks and headers among them."""
    return sources_hash(Path(assay.__file__).parent)


def sources_hash(root: Path) -> str:
    """Hash of the sources below a folder, by names and bytes alone."""
    digest = hashlib.sha256()
    for name in _sources(root):
        digest.update(name.encode() + b"\0")
        digest.update(hashlib.sha256((root / name).read_bytes()).digest())
    return digest.hexdigest()


def _sources(root: Path) -> list[str]:
    """Names below the root, the same list on every machine: what is written at run time (compiled
    modules, a task's evidence) is not among them."""
    found = [path.relative_to(root) for path in root.rglob("*") if path.suffix in SUFFIXES]
    return sorted(
        path.as_posix()
        for path in found
        if _WRITTEN.isdisjoint(path.parts) and (root / path).is_file()
    )


def host_digest() -> str:
    """Tells hosts apart in merged ledgers; a host's name is nobody's business."""
    try:
        identity = Path("/etc/machine-id").read_text().strip()
    except OSError:
        identity = ""
    return "h" + hashlib.sha256(f"{identity}:{platform.node()}".encode()).hexdigest()[:12]


def _installed() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def processor_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    for key in ("model name", "CPU part"):
        match = re.search(rf"^{key}\s*:\s*(.+)$", text, re.MULTILINE)
        if match:
            return match[1].strip() if key == "model name" else f"CPU part {match[1].strip()}"
    return platform.processor() or "unknown"
