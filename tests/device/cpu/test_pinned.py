"""How a runner is set up for a pinned package: variables, gradients, and what it compiled."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import pytest
import torch

from assay.device.cpu import CpuDevice
from assay.device.runners import Program
from assay.device.runners import RunnerProcess
from assay.device.runners.modules import loaded_modules
from assay.device.runners.program import Artefact
from assay.runner.artefacts import SOURCE_TIME
from assay.spec.documents import parse_document
from assay.spec.task import Task
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import TASK
from tests.device.cpu.making import program
from tests.device.cpu.making import rows
from tests.device.cpu.making import source_of
from tests.device.cpu.making import task
from tests.judge.pinning import ADAPTER
from tests.judge.pinning import pinned
from tests.runner.sandboxed import require

ROW = rows()[0]


def answer(process: RunnerProcess) -> float:
    """What a solution writes into every element."""
    return process.examine(source_of(ROW), {"x": torch.zeros(4096)}, calls=1).first["y"][0].item()


def of_package(ops: str, **more: Any) -> Program:
    """A pinned package whose entry is this."""
    made = pinned({"standin/__init__.py": "", "standin/ops.py": ops}, **more)
    return Program(task(), made.solution, made.sources, made.solution.entry, lock=made.lock)


# -- variables

TELLS = """
import os
SEEN = os.environ.get("STANDIN_MODE"), os.environ.get("STANDIN_CACHE", "")
def twice(x, y, bias):
    right = SEEN == ("fast", os.path.dirname(os.environ["TRITON_CACHE_DIR"]) + "/own")
    y.fill_(1 + right)
"""
VARIABLES = {"STANDIN_MODE": "fast", "STANDIN_CACHE": "{cache}/own"}


def test_variables_of_the_lock_are_set_before_anything_is_loaded(device: CpuDevice) -> None:
    with device.start(of_package(TELLS, environment=VARIABLES)) as process:
        assert answer(process) == 2
    with device.start(of_package(TELLS)) as process:
        assert answer(process) == 1


def test_nobody_without_a_lock_has_variables(device: CpuDevice) -> None:
    source = TELLS.replace("(x, y, bias)", "(x, y, *, bias)")
    assert program(source).request(interpret=False)["environment"] == {}
    with device.start(program(source)) as process:
        assert answer(process) == 1


def test_a_lock_does_not_decide_where_the_usual_caches_lie(device: CpuDevice) -> None:
    source = (
        "import os\ndef twice(x, y, bias):\n"
        "    y.fill_(os.environ['TRITON_CACHE_DIR'].endswith('/cache/triton'))\n"
    )
    with device.start(of_package(source, environment={"TRITON_CACHE_DIR": "/tmp"})) as process:
        assert answer(process) == 1


# -- gradients

GRADIENTS = "import torch\ndef twice(x, y, *, bias):\n    y.fill_(torch.is_grad_enabled())\n"


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("loaded", ["", "torch.set_grad_enabled(False)\n", "torch.enable_grad()\n"])
def test_gradients_are_as_the_contract_of_the_task_has_them(
    device: CpuDevice, enabled: bool, loaded: str
) -> None:
    contract = {"prepare": True, "gradients": enabled}
    asked = parse_document({**TASK, "contract": contract}, Task, "task.toml")
    source = GRADIENTS.replace("\n", f"\n{loaded}", 1)
    with device.start(replace(program(source), task=asked)) as process:
        assert answer(process) == enabled


def test_what_a_module_switched_while_it_was_loaded_is_switched_back(device: CpuDevice) -> None:
    source = GRADIENTS.replace("\n", "\ntorch.set_grad_enabled(True)\n", 1)
    with device.start(program(source)) as process:
        assert answer(process) == 0


# -- modules


def test_loaded_modules_are_told_with_their_files(device: CpuDevice) -> None:
    ops = "import wsgiref.util\ndef twice(x, y, bias):\n    y.fill_(1)\n"
    with device.start(of_package(ops)) as process:
        own = loaded_modules(process, ["standin"])
        theirs = loaded_modules(process, ["wsgiref"])
        assert loaded_modules(process, ["wsg", "stand"]) == ()
    assert [(module.name, module.inside) for module in own] == [
        ("standin", "standin/__init__.py"),
        ("standin.ops", "standin/ops.py"),
    ]
    assert [(module.name, module.inside) for module in theirs] == [
        ("wsgiref", None),
        ("wsgiref.util", None),
    ]
    assert theirs[0].file is not None
    assert theirs[0].file.endswith("/wsgiref/__init__.py")


def test_a_namespace_has_no_file(device: CpuDevice) -> None:
    made = pinned({"standin/ops.py": "def twice(x, y, bias):\n    y.fill_(1)\n"}, adapter=ADAPTER)
    one = Program(task(), made.solution, made.sources, made.solution.entry, lock=made.lock)
    with device.start(one) as process:
        assert [(m.name, m.inside) for m in loaded_modules(process, ["standin"])] == [
            ("standin", None),
            ("standin.ops", "standin/ops.py"),
        ]


# -- what was compiled

BUILD = """
import os
import pathlib
import subprocess

RULES = '''
rule make
  command = cat $in {header} > $out && echo $out: {header} > $out.d && echo made >> {log}
  deps = gcc
  depfile = $out.d
build out.txt: make in.txt
'''

def twice(x, y, bias):
    header = pathlib.Path(__file__).parent / "include.h"
    folder = pathlib.Path(os.environ["STANDIN_CACHE"])
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log.txt"
    for name, text in (
        ("in.txt", "source"), ("build.ninja", RULES.format(header=header, log=log))
    ):
        if not (folder / name).exists() or (folder / name).read_text() != text:
            (folder / name).write_text(text)
    subprocess.run(["ninja", "-C", str(folder)], check=True, stdin=subprocess.DEVNULL)
    y.fill_(len(log.read_text().split()))
"""
"""Builds with ninja as a JIT compiler does, from a source in the cache and a header beside itself;
answers how often that was done."""


def builder() -> Program:
    require("namespaces", "private_folders")
    if shutil.which("ninja") is None:
        pytest.skip("needs ninja")
    files = {"standin/__init__.py": "", "standin/ops.py": BUILD, "standin/include.h": "header"}
    made = pinned(files, environment={"STANDIN_CACHE": "{cache}/own"})
    return Program(task(), made.solution, made.sources, made.solution.entry, lock=made.lock)


def test_what_was_built_in_one_process_is_not_built_again_in_the_next(device: CpuDevice) -> None:
    first = builder()
    with device.start(first) as process:
        assert answer(process) == 1
        made = process.artefacts()
    assert {"own/out.txt", "own/.ninja_deps", "own/.ninja_log"} <= made.keys()
    with device.start(replace(first, cache=made)) as process:
        assert answer(process) == 1
        again = process.artefacts()
    assert again["own/out.txt"] == made["own/out.txt"]
    # Without the times at which files were written it is.
    timeless = {path: Artefact(found.content, 0) for path, found in made.items()}
    with device.start(replace(first, cache=timeless)) as process:
        assert answer(process) == 2


def test_sources_are_older_than_whatever_is_made_of_them(device: CpuDevice) -> None:
    ops = "import os\ndef twice(x, y, bias):\n    y.fill_(os.stat(__file__).st_mtime_ns == TIME)\n"
    with device.start(of_package(ops.replace("TIME", str(SOURCE_TIME)))) as process:
        assert answer(process) == 1


def test_artefacts_that_are_none_are_left_out(device: CpuDevice) -> None:
    with device.start(program(PLAIN)) as process:
        for reply in ({}, {"files": 3, "times": {}}, {"files": {"a": "zz"}, "times": {}}):
            process.runner.ask = lambda *_, told=reply: told  # type: ignore[method-assign]
            assert process.artefacts() == {}
        strange = {"files": {"a": "00"}, "times": {"a": "soon"}}
        process.runner.ask = lambda *_: strange  # type: ignore[method-assign]
        assert process.artefacts() == {"a": Artefact(b"\0", 0)}


def folder_of(device: CpuDevice) -> str:
    with device.start(of_package("def twice(x, y, bias):\n    y.fill_(1)\n")) as process:
        module = loaded_modules(process, ["standin"])[0]
    assert module.file is not None
    assert module.inside is not None
    return module.file.removesuffix(module.inside)


def test_a_folder_is_called_the_same_wherever_it_is_the_runners_own(device: CpuDevice) -> None:
    require("namespaces", "private_folders")
    assert folder_of(device) == folder_of(device) == "/tmp/assay-runner-own/"


def test_in_a_folder_for_everybody_each_runner_has_one_of_its_own() -> None:
    with CpuDevice(isolate=False) as shared:
        assert folder_of(shared) != folder_of(shared)
