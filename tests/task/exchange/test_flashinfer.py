"""FlashInfer-Bench definitions, workloads and solutions: imported, judged, or refused by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.spec.errors import DocumentError
from assay.spec.errors import UsageError
from assay.spec.status import Status
from assay.task.admit import admit
from assay.task.exchange.imported import Imported
from assay.task.exchange.importing import import_from
from assay.task.exchange.stored_tensors import stored_tensor
from tests.task.exchange import traces
from tests.task.exchange.examining import examined

PYTHON = {"language": "python", "entry_point": "main.py::run"}
TWO_ROWS = [
    traces.workload("a-1", {"batch_size": 3}),
    traces.workload("b-2", {"batch_size": 17}),
]
GATHER = traces.definition(
    name="gather",
    axes={"rows": {"type": "const", "value": 9}, "count": {"type": "var"}},
    inputs={
        "table": {"shape": ["rows"], "dtype": "float32"},
        "index": {"shape": ["count"], "dtype": "int32"},
    },
    outputs={"out": {"shape": ["count"], "dtype": "float32"}},
    reference="def run(table, index):\n    return table[index] * 2.0\n",
)
STORED = {"type": "safetensors", "path": "blobs/index.safetensors", "tensor_key": "index"}


def gather_workload(index: dict[str, Any]) -> dict[str, Any]:
    return {
        "axes": {"count": 4},
        "inputs": {"table": {"type": "random"}, "index": index},
        "uuid": "g",
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Imported]:
    @functools.cache
    def imported() -> Imported:
        root = tmp_path_factory.mktemp("set")
        dps = {
            "language": "python",
            "entry_point": "src/main.py::go",
            "destination_passing_style": True,
        }
        path = traces.write_set(
            root,
            traces.definition(),
            TWO_ROWS,
            [
                traces.solution("returns", PYTHON, {"main.py": traces.RETURNS}),
                traces.solution(
                    "writes",
                    dps,
                    {"src/main.py": traces.WRITES, "src/helper.py": traces.HELPER},
                ),
                traces.solution(
                    "wrong",
                    PYTHON,
                    {"main.py": traces.RETURNS.replace("+ eps", "+ 2 * eps + 1e-3")},
                ),
                traces.solution(
                    "cuda", {"language": "cuda", "entry_point": "k.cu::run"}, {"k.cu": "//"}
                ),
                traces.solution(
                    "tile", {"language": "tilelang", "entry_point": "k.py::run"}, {"k.py": ""}
                ),
            ],
        )
        return import_from(path, root / "task")

    return imported


def test_axes_scalars_and_workloads_become_a_task(made: Callable[[], Imported]) -> None:
    task = made().task.task
    assert made().form == "flashinfer"
    assert task.name == "flashinfer/rmsnorm_h48"
    assert task.summary == "Each row by its root mean square."
    (function,) = task.functions
    assert function.name == "rmsnorm_h48"
    assert [(a.name, a.role.value, a.shape) for a in function.arguments] == [
        ("hidden_states", "input", ("batch_size", 48)),
        ("weight", "input", (48,)),
        ("output", "output", ("batch_size", 48)),
    ]
    assert [(o.name, o.choices) for o in function.options] == [("eps", (1e-6,))]
    axis = task.domain.axes["batch_size"]
    assert (axis.low, axis.high) == (1, 17)
    rows = made().task.workloads.rows
    assert [row.id for row in rows] == ["a-1", "b-2"]
    assert rows[1].tensors["output"].shape == (17, 48)  # type: ignore[union-attr]
    assert rows[1].options == {"eps": 1e-6}
    # The reference is the definition's own source, with ours after it.
    assert made().task.reference.startswith(traces.REFERENCE)


@pytest.mark.long
def test_solutions_are_held_where_they_can_be(made: Callable[[], Imported]) -> None:
    assert made().solutions == ("returns", "writes", "wrong")
    assert made().left_out == (
        "solution cuda: its cuda is bound by tvm-ffi: one here has the C ABI of assay.h",
        "solution tile: it is written in tilelang, which no solution here is",
    )
    for name in ("eager", "returns", "writes"):
        assert examined(made().task.path, name) is None
    verdict = examined(made().task.path, "wrong")
    assert verdict is not None
    assert verdict.status is Status.WRONG_VALUE


def test_an_imported_definition_is_admitted(made: Callable[[], Imported]) -> None:
    admission = admit(made().task)
    assert admission.survivors == ()
    assert admission.admitted
    # In bfloat16 already: the one mutant that no input can tell is declared by the import.
    assert admission.declared_equivalent == 1


def test_outputs_that_a_reference_names_come_in_the_definitions_order(tmp_path: Path) -> None:
    source = """
import torch


def run(x, residual, scale):
    total = x.to(torch.float32) * scale + residual.to(torch.float32)
    return {"lse": torch.logsumexp(total, dim=-1), "out": total.to(x.dtype)}
"""
    what = traces.definition(
        axes={"rows": {"type": "var"}, "width": {"type": "const", "value": 12}},
        inputs={
            "x": {"shape": ["rows", "width"], "dtype": "float16"},
            "residual": {"shape": ["rows", "width"], "dtype": "float16"},
            "scale": {"shape": None, "dtype": "float32"},
        },
        outputs={
            "out": {"shape": ["rows", "width"], "dtype": "float16"},
            "lse": {"shape": ["rows"], "dtype": "float32"},
        },
        reference=source,
    )
    inputs = {
        "x": {"type": "random"},
        "residual": {"type": "random"},
        "scale": {"type": "scalar", "value": 0.5},
    }
    rows = [{"axes": {"rows": n}, "inputs": inputs, "uuid": f"r{n}"} for n in (5, 8)]
    made = import_from(traces.write_set(tmp_path, what, rows), tmp_path / "task")
    assert [a.name for a in made.task.task.functions[0].arguments] == [
        "x",
        "residual",
        "out",
        "lse",
    ]
    assert examined(tmp_path / "task", "eager") is None


def test_a_triton_solution_is_examined_in_the_interpreter(tmp_path: Path) -> None:
    what = traces.definition(
        axes={"rows": {"type": "var"}, "width": {"type": "const", "value": 12}},
        inputs={"x": {"shape": ["rows", "width"], "dtype": "float32"}},
        outputs={"y": {"shape": ["rows", "width"], "dtype": "float32"}},
        reference="def run(x):\n    return x * x + 1.0\n",
    )
    rows = [{"axes": {"rows": 5}, "inputs": {"x": {"type": "random"}}, "uuid": "r"}]
    spec = {"language": "triton", "entry_point": "main.py::run"}
    made = import_from(
        traces.write_set(
            tmp_path, what, rows, [traces.solution("t", spec, {"main.py": traces.TRITON})]
        ),
        tmp_path / "task",
    )
    assert made.solutions == ("t",)
    assert examined(tmp_path / "task", "t") is None


def test_a_native_solution_with_our_abi_is_held_under_the_tasks_name(tmp_path: Path) -> None:
    native = 'extern "C" int run(const assay_tensor* t, const double* o, void* s) { return 0; }'
    spec = {"language": "cpp", "entry_point": "k.cpp::run"}
    path = traces.write_set(
        tmp_path, traces.definition(), TWO_ROWS, [traces.solution("n", spec, {"k.cpp": native})]
    )
    made = import_from(path, tmp_path / "task")
    assert made.solutions == ("n",)
    text = (tmp_path / "task/solutions/n/k.cpp").read_text()
    assert text.startswith(native)
    assert 'extern "C" int rmsnorm_h48(' in text


def test_a_stored_input_is_refused_unless_its_file_is_there(tmp_path: Path) -> None:
    path = traces.write_set(tmp_path, GATHER, [gather_workload(STORED)])
    with pytest.raises(UsageError) as raised:
        import_from(path, tmp_path / "task")
    assert raised.value.what == (
        "workload g: input index is stored in blobs/index.safetensors, which is not there"
    )
    assert not (tmp_path / "task").exists()
    traces.write_stored(tmp_path / "blobs/index.safetensors", "index", [3, 1, 8, 0])
    made = import_from(path, tmp_path / "task")
    assert made.remarks == (
        "index is stored in files: their shapes and ranges are taken, their values are drawn",
    )
    assert made.task.task.functions[0].arguments[1].integers == (0, 9)
    assert examined(tmp_path / "task", "eager") is None


def test_a_stored_tensor_is_read_without_its_library(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    traces.write_stored(path, "k", [5, -2, 7])
    found = stored_tensor(path, "k")
    assert (found.shape, found.dtype, found.bounds) == ((3,), "int32", (-2, 7))
    with pytest.raises(UsageError, match="holds no tensor other"):
        stored_tensor(path, "other")
    path.write_bytes(b"\xff" * 20)
    with pytest.raises(UsageError, match="not a safetensors file"):
        stored_tensor(path, "k")


def test_equal_axes_become_one_and_fixed_ones_stay_numbers(tmp_path: Path) -> None:
    axes = {"a": {"type": "var"}, "b": {"type": "var"}, "c": {"type": "var"}}
    inputs = {"x": {"shape": ["a", "c"], "dtype": "float32"}}
    outputs = {"y": {"shape": ["b", "c"], "dtype": "float32"}}
    what = traces.definition(
        axes=axes,
        inputs=inputs,
        outputs=outputs,
        reference="def run(x):\n    return x + 1.0\n",
        constraints=["a == b", "c == 4 + 1"],
    )
    rows = [
        {"axes": {"a": n, "b": n, "c": 5}, "inputs": {"x": {"type": "random"}}, "uuid": f"u{n}"}
        for n in (2, 6)
    ]
    task = import_from(traces.write_set(tmp_path, what, rows), tmp_path / "task").task.task
    assert [argument.shape for argument in task.functions[0].arguments] == [("a", 5), ("a", 5)]
    assert list(task.domain.axes) == ["a"]


@pytest.mark.parametrize(
    ("changes", "rows", "reason"),
    [
        (
            {"constraints": ["batch_size == 2 * hidden_size + 1"]},
            TWO_ROWS,
            "constraint batch_size == 2 * hidden_size + 1 cannot be represented: "
            "axes are drawn independently",
        ),
        (
            {"constraints": ["weight[-1] == batch_size"]},
            TWO_ROWS,
            "constraint weight[-1] == batch_size cannot be represented: it is about values",
        ),
        (
            {"outputs": {"output": {"shape": None, "dtype": "float32"}}},
            TWO_ROWS,
            "output output is a scalar, and only tensors are judged",
        ),
        (
            {"outputs": {"output": {"shape": ["hidden_size"], "dtype": "float4_e2m1"}}},
            TWO_ROWS,
            "output is float4_e2m1, a dtype that no task has",
        ),
        ({"reference": "def go(x): ..."}, TWO_ROWS, "its reference defines no function run"),
        ({}, [], "there is no workload of rmsnorm_h48"),
        ({}, [traces.workload("a", {})], "workload a has no extent for batch_size"),
        (
            {},
            [traces.workload("a", {"batch_size": 3}, eps={"type": "random"})],
            "workload a: input eps has no value, and it is a scalar",
        ),
    ],
)
def test_what_cannot_be_represented_is_refused_by_name(
    changes: dict[str, Any], rows: list[dict[str, Any]], reason: str, tmp_path: Path
) -> None:
    path = traces.write_set(tmp_path, traces.definition(**changes), rows)
    with pytest.raises(UsageError) as raised:
        import_from(path, tmp_path / "task")
    assert raised.value.what == reason
    assert not (tmp_path / "task").exists()


def test_a_reference_that_does_not_say_what_its_definition_does_is_refused(tmp_path: Path) -> None:
    wrong = traces.REFERENCE.replace(".to(hidden_states.dtype)", "")
    path = traces.write_set(tmp_path, traces.definition(reference=wrong), TWO_ROWS)
    with pytest.raises(UsageError) as raised:
        import_from(path, tmp_path / "task")
    assert raised.value.what == (
        "its reference gives output in torch.float32, where the definition says bfloat16"
    )


def test_indices_that_nobody_bounds_fail_by_name(tmp_path: Path) -> None:
    path = traces.write_set(tmp_path, GATHER, [gather_workload({"type": "random"})])
    with pytest.raises(UsageError, match="its reference fails on drawn values: IndexError"):
        import_from(path, tmp_path / "task")


def test_an_axis_of_a_kind_that_is_not_known_is_named(tmp_path: Path) -> None:
    axes = {"batch_size": {"type": "expr"}, "hidden_size": {"type": "const", "value": 48}}
    path = traces.write_set(tmp_path, traces.definition(axes=axes), TWO_ROWS)
    with pytest.raises(DocumentError) as raised:
        import_from(path, tmp_path / "task")
    assert raised.value.where.endswith("key axes.batch_size")


def test_a_folder_of_two_definitions_wants_one_named(tmp_path: Path) -> None:
    traces.write_set(tmp_path / "set", traces.definition(), TWO_ROWS)
    traces.write_set(tmp_path / "set", GATHER, [])
    with pytest.raises(UsageError, match=r"holds 2 definitions: gather\.json, rmsnorm_h48\.json"):
        import_from(tmp_path / "set", tmp_path / "task")
