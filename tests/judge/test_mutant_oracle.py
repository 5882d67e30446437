"""Mutants side by side in one process, and what one of them can do to the others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from assay.device.cpu import CpuDevice
from assay.device.failure import ProcessFailure
from assay.judge.mutant_oracle import MutantOracle
from assay.judge.mutants import Mutant
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import case
from tests.device.cpu.making import contender

SOURCES = {
    "thrice": "def twice(x, *, bias):\n    return x * 3\n",
    "missing": "def other(x):\n    return x\n",
    "no_python": "def twice(x, bias:\n",
    "raises": "def twice(x, *, bias):\n    raise ValueError('not this')\n",
    "dies": "import os\n\n\ndef twice(x, *, bias):\n    os._exit(3)\n",
}
MUTANTS = {name: Mutant(name, name, source) for name, source in SOURCES.items()}
X = {"x": torch.arange(4096, dtype=torch.float32)}


@pytest.fixture
def oracle() -> Iterator[MutantOracle]:
    made = case(contender(PLAIN))
    with (
        CpuDevice() as device,
        MutantOracle(
            device, made, made.function_of(made.rows[0]), tuple(MUTANTS.values())
        ) as oracle,
    ):
        yield oracle


def answer(oracle: MutantOracle, name: str) -> torch.Tensor:
    return oracle.truth(MUTANTS[name], case(contender(PLAIN)).rows[0], X)["y"]


def test_each_answers_in_float64(oracle: MutantOracle) -> None:
    got = answer(oracle, "thrice")
    assert got.dtype is torch.float64
    assert torch.equal(got, X["x"].double() * 3)


@pytest.mark.parametrize("name", ["missing", "no_python", "raises", "dies"])
def test_one_that_fails_fails_alone(oracle: MutantOracle, name: str) -> None:
    for _ in range(2):
        with pytest.raises(ProcessFailure):
            answer(oracle, name)
        assert float(answer(oracle, "thrice")[1]) == 3.0
