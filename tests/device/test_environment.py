from __future__ import annotations

import os
import platform
from pathlib import Path

import assay
from assay.device.environment import environment
from assay.device.environment import harness_hash
from assay.device.environment import host_digest


def test_the_environment_is_this_process() -> None:
    found = environment()
    assert found.python == platform.python_version()
    assert found.assay == assay.__version__
    assert found.cores == len(os.sched_getaffinity(0))
    assert found.packages["pydantic"].startswith("2.")
    assert environment() == found


def test_a_host_is_told_apart_but_not_named() -> None:
    digest = host_digest()
    assert len(digest) == 13
    assert platform.node() not in digest


def test_the_harness_hash_covers_every_source_of_the_package() -> None:
    assert len(harness_hash()) == 64
    target = Path(assay.__file__).parent / "_probe_of_the_hash.py"
    before = harness_hash()
    try:
        target.write_text("x = 1\n")
        harness_hash.cache_clear()
        assert harness_hash() != before
    finally:
        target.unlink()
        harness_hash.cache_clear()
    assert harness_hash() == before
