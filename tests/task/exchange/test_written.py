"""Folders that are whole or not there; documents and texts that say what they were given."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest
import torch

from assay.spec.errors import DocumentError
from assay.spec.errors import StorageError
from assay.spec.errors import UsageError
from assay.task.exchange.document import solution_text
from assay.task.exchange.document import toml_text
from assay.task.exchange.embedded import literal
from assay.task.exchange.form import Form
from assay.task.exchange.form import recognise
from assay.task.exchange.names import name
from assay.task.exchange.names import symbol
from assay.task.exchange.wide import Wide
from assay.task.exchange.written import write_whole


def test_a_folder_that_fails_its_check_is_not_there(tmp_path: Path) -> None:
    target = tmp_path / "a" / "task"

    def check(made: Path) -> None:
        assert (made / "x/y.txt").read_text() == "z"
        raise UsageError("no good", where=str(made / "x"))

    with pytest.raises(UsageError) as raised:
        write_whole(target, {"x/y.txt": "z"}, check)
    # It is told by the name that it would have had.
    assert raised.value.where == str(target / "x")
    assert list((tmp_path / "a").iterdir()) == []


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot be written"):
        write_whole(tmp_path / "file" / "task", {"a": "b"}, lambda _: None)


@pytest.mark.parametrize(
    "text",
    [
        "a = 1\n",
        "'''",
        'x = """y"""\n',
        "a\r\nb\r\n",
        "ends in '",
        "back\\slash\\",
        "\\",
        "",
        "é\t\n",
    ],
)
def test_a_literal_is_the_text_again(text: str) -> None:
    assert ast.literal_eval(literal(text)) == text


def test_toml_holds_what_it_was_given() -> None:
    content = {
        "name": 'a "b" \\c',
        "flag": True,
        "table": {"axes": {"n": {"low": 1}}, "empty": {}},
        "parts": [{"x": [1, 2.5], "inner": [{"a": "é"}, {"b": False}]}, {"x": []}],
    }
    assert tomllib.loads(toml_text(content)) == content


def test_a_document_that_would_not_load_is_not_written() -> None:
    with pytest.raises(DocumentError) as raised:
        solution_text({"name": "x", "language": "fortran", "sources": ["a"], "entry": "a"}, "here")
    assert raised.value.where == "here: key language"


def test_names_stay_apart_and_within_their_bounds() -> None:
    assert symbol("class") == "_class"
    assert symbol("x", {"x", "x_2"}) == "x_3"
    long = symbol("features.denseblock4." * 5 + "weight")
    assert len(long) <= 60
    assert long.endswith("_weight")
    assert name("a b/c") == "a_b_c"
    assert name("../..") == "unnamed"


def test_wide_answers_in_float64_whatever_is_asked_for() -> None:
    x = torch.tensor([1.0], dtype=torch.float64) / 3
    with Wide():
        assert x.float().dtype is torch.float64
        assert x.to(torch.bfloat16).dtype is torch.float64
        assert x.to(dtype=torch.float16).dtype is torch.float64
        assert torch.zeros(2).dtype is torch.float64
        assert torch.zeros(2, dtype=torch.float32).dtype is torch.float64
        assert x.to(torch.int32).dtype is torch.int32
        assert x.half().item() == 1 / 3
    assert torch.zeros(2).dtype is torch.float32
    assert x.float().dtype is torch.float32


def test_each_form_is_recognised_by_what_lies_there(tmp_path: Path) -> None:
    (tmp_path / "kda/bench").mkdir(parents=True)
    (tmp_path / "kda/bench/workloads.json").write_text("[]")
    (tmp_path / "kda/bench/nothing").mkdir()
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb/p.py").write_text("class Model: ...\n")
    (tmp_path / "fib/definitions").mkdir(parents=True)
    keys = '{"axes": {}, "inputs": {}, "outputs": {}, "reference": ""}'
    (tmp_path / "fib/definitions/d.json").write_text(keys)
    assert recognise(tmp_path / "kda") is Form.KDA
    assert recognise(tmp_path / "kb") is Form.KERNELBENCH
    assert recognise(tmp_path / "kb/p.py") is Form.KERNELBENCH
    assert recognise(tmp_path / "fib") is Form.FLASHINFER
    assert recognise(tmp_path / "fib/definitions/d.json") is Form.FLASHINFER
    with pytest.raises(UsageError, match="no KernelBench problem"):
        recognise(tmp_path / "kda/bench/nothing")
