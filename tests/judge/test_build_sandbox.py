"""Compilers read what a source tells them to: they are confined as solutions are."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.device.failure import ProcessFailure
from assay.device.runners import Target
from assay.judge import build as building
from assay.judge.build import build
from assay.judge.build import compile_library
from assay.judge.confined import Ended
from assay.judge.isolation import isolation_labels
from assay.judge.toolchain import HOST
from assay.runner.sandbox import LANDLOCK
from assay.runner.sandbox import PARTS
from assay.runner.sandbox import PRIVATE_FOLDERS
from assay.runner.sandbox import SECCOMP
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import contender
from tests.device.cpu.making import task
from tests.runner.sandboxed import granted
from tests.runner.sandboxed import require

CPU = Target("cpu")
FLAGS = HOST.base_flags(CPU)
HONEST = b'#include <vector>\n#include "assay.h"\nextern "C" int f() { return 1; }\n'


@pytest.fixture
def others() -> Iterator[Path]:
    """A folder of somebody else, which no private /tmp hides."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="assay-test-") as name:
        (Path(name) / "answer.h").write_text("#define ANSWER 42\n")
        yield Path(name)


def test_files_of_others_cannot_be_included(others: Path) -> None:
    require(LANDLOCK)
    source = f'#include "{others}/answer.h"\nextern "C" int f() {{ return ANSWER; }}\n'.encode()
    with pytest.raises(ProcessFailure, match="Permission denied") as caught:
        compile_library({"k.cpp": source}, "k.cpp", FLAGS, HOST)
    assert caught.value.status is Status.BUILD_ERROR
    made = compile_library({"k.cpp": source}, "k.cpp", FLAGS, HOST, without=(LANDLOCK,))
    assert made.library[:4] == b"\x7fELF"
    assert made.held == {**granted(), LANDLOCK: False}


def test_temporary_files_of_others_cannot_be_assembled_in(tmp_path: Path) -> None:
    require(PRIVATE_FOLDERS)
    (tmp_path / "answer").write_text("secret")
    source = f'asm(".incbin \\"{tmp_path}/answer\\"");\nextern "C" int f() {{ return 0; }}\n'
    with pytest.raises(ProcessFailure, match="Assembler messages"):
        compile_library({"k.cpp": source.encode()}, "k.cpp", FLAGS, HOST)
    off = (PRIVATE_FOLDERS, LANDLOCK)
    made = compile_library({"k.cpp": source.encode()}, "k.cpp", FLAGS, HOST, without=off)
    assert b"secret" in made.library


def test_honest_sources_build_and_the_report_says_what_held() -> None:
    made = build(task(), contender(HONEST.decode(), language="cpp"), FLAGS, CPU)
    assert made.held == granted()
    assert build(task(), contender(PLAIN), (), CPU).held == {}


def test_a_compiler_that_is_ended_by_the_sandbox_is_a_violation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(building, "run_confined", lambda *_, **__: Ended(128 + 31, "", {}))
    with pytest.raises(ProcessFailure, match="that the sandbox forbids") as caught:
        compile_library({"k.cpp": HONEST}, "k.cpp", FLAGS, HOST)
    assert caught.value.violation is ViolationKind.SANDBOX


def test_a_compiler_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "run_confined", lambda *_, **__: Ended(124, "", {}))
    with pytest.raises(ProcessFailure, match=r"^compiling took over 120 s$") as caught:
        compile_library({"k.cpp": HONEST}, "k.cpp", FLAGS, HOST)
    assert caught.value.status is Status.BUILD_ERROR


def test_labels_name_what_is_missing_once() -> None:
    every = dict.fromkeys(PARTS, True)
    assert isolation_labels(every, (), [every, {}]) == ()
    lacking = {**every, LANDLOCK: False, SECCOMP: False}
    assert isolation_labels(lacking, (), [lacking]) == (
        "weaker isolation: no landlock, no seccomp",
    )
    assert isolation_labels(lacking, (SECCOMP,), [every]) == (
        "defence off: seccomp",
        "weaker isolation: no landlock",
    )
    assert isolation_labels(every, (), [lacking, lacking]) == (
        "weaker isolation of builds: no landlock, no seccomp",
    )
