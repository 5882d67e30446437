"""KernelBench problems: imported, right in float64, judged; what cannot be is refused by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from assay.spec.errors import UsageError
from assay.spec.status import Status
from assay.spec.task import Role
from assay.task.admit import admit
from assay.task.exchange.imported import Imported
from assay.task.exchange.importing import import_from
from assay.task.exchange.kernelbench import import_kernelbench
from assay.task.exchange.kernelbench_probe import probe
from assay.task.exchange.probing import RefusedError
from assay.task.exchange.probing import first_line
from tests.task.exchange import problems
from tests.task.exchange.examining import examined


def problem(folder: Path, source: str, name: str = "7_Problem.py") -> Path:
    path = folder / name
    path.write_text(source)
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Imported]:
    """Each good problem imported, once for all tests."""

    @functools.cache
    def made(name: str) -> Imported:
        folder = tmp_path_factory.mktemp(name)
        return import_from(problem(folder, problems.GOOD[name]), folder / "task")

    return made


SOME = ("element_wise", "several_outputs", "batch_norm")
"""Without parameters, with several outputs, with parameters and buffers."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SOME else pytest.mark.long) for name in problems.GOOD],
)
def test_a_problem_of_each_kind_is_imported_and_its_eager_model_passes_the_exam(
    name: str, good: Callable[[str], Imported]
) -> None:
    made = good(name)
    assert made.form == "kernelbench"
    assert made.task.task.name == "kernelbench/7_Problem"
    # The problem's own bytes are beside the baseline and inside the reference.
    source = (made.task.path / "baselines/eager/problem.py").read_text()
    assert source == problems.GOOD[name]
    namespace: dict[str, object] = {}
    exec(made.task.reference, namespace)
    assert namespace["SOURCE"] == source
    assert examined(made.task.path, "eager") is None


def test_inputs_weights_options_and_outputs_become_arguments(
    good: Callable[[str], Imported],
) -> None:
    made = good("matmul")
    (function,) = made.task.task.functions
    assert [(a.name, a.role.value, a.shape) for a in function.arguments] == [
        ("A", "input", (20, 12)),
        ("B", "input", (20, 16)),
        ("y", "output", (12, 16)),
    ]
    assert [(o.name, o.choices) for o in function.options] == [("s", (0.75,))]
    assert made.task.workloads.rows[0].options == {"s": 0.75}

    made = good("convolution")
    (function,) = made.task.task.functions
    assert [(a.name, a.constant, a.shape) for a in function.arguments] == [
        ("x", False, (2, 3, 9, 8)),
        ("scale", True, (5, 1, 1)),
        ("conv_weight", True, (5, 3, 3, 3)),
        ("conv_bias", True, (5,)),
        ("y", False, (2, 5, 7, 6)),
    ]
    assert made.task.task.contract.prepare


def test_whole_numbers_stay_in_the_range_that_get_inputs_draws_from(
    good: Callable[[str], Imported],
) -> None:
    made = good("whole_numbers")
    (function,) = made.task.task.functions
    targets = function.arguments[1]
    assert targets.integers == (0, 7)
    assert function.arguments[2].shape == ()


def test_nested_outputs_come_one_after_the_other(good: Callable[[str], Imported]) -> None:
    made = good("several_outputs")
    outputs = [a for a in made.task.task.functions[0].arguments if a.role is Role.OUTPUT]
    assert [(a.name, a.shape, a.dtypes) for a in outputs] == [
        ("y0", (3, 4, 5), ("float32",)),
        ("y1", (1, 3, 5), ("float32",)),
        ("y2", (3, 4), ("int64",)),
    ]


def test_buffers_that_are_written_or_are_tables_are_no_arguments(
    good: Callable[[str], Imported],
) -> None:
    made = good("batch_norm")
    names = [a.name for a in made.task.task.functions[0].arguments]
    assert names == ["x", "norm_weight", "norm_bias", "y"]
    assert made.remarks == (
        "forward writes norm.num_batches_tracked, norm.running_mean, norm.running_var: "
        "no argument, and no part of the answer",
    )
    made = good("attention")
    names = [a.name for a in made.task.task.functions[0].arguments]
    assert names == ["x", "attn_weight", "attn_bias", "y"]


def test_the_reference_answers_in_float64_even_where_the_problem_asks_for_less(
    good: Callable[[str], Imported],
) -> None:
    made = good("attention")
    namespace: dict[str, object] = {}
    exec(made.task.reference, namespace)
    torch.manual_seed(0)
    x, w, b = (torch.randn(s, dtype=torch.float64) for s in ((2, 5, 8), (24, 8), (24,)))
    with torch.no_grad():
        answer = namespace["problem_2"](x, w, b)  # type: ignore[operator]
    q, k, v = (t.view(2, 5, 2, 4).transpose(1, 2) for t in (x @ w.T + b).chunk(3, 2))
    att = (q @ k.transpose(-2, -1) / 2).masked_fill(torch.ones(5, 5).tril() == 0, -torch.inf)
    right = (att.softmax(-1) @ v).transpose(1, 2).reshape(2, 5, 8)
    assert answer.dtype is torch.float64
    torch.testing.assert_close(answer, right, rtol=1e-12, atol=1e-12)
    assert torch.get_default_dtype() is torch.float32


def test_weights_of_a_deep_network_are_scaled_where_they_would_overflow(
    good: Callable[[str], Imported],
) -> None:
    made = good("deep")
    assert made.remarks == (
        "weights around one overflow here: each is scaled by a power of two first",
    )
    # 1 / sqrt(3 * 64) is the size of what nn.Linear draws: 2**-4 is nearest.
    assert "'layers.0.weight': -4" in made.task.reference


@pytest.mark.parametrize("name", [name for name in problems.REFUSED if name != "exit"])
def test_what_cannot_be_represented_has_its_reason(name: str, tmp_path: Path) -> None:
    source, reason = problems.REFUSED[name]
    path = problem(tmp_path, source)
    with torch.no_grad(), pytest.raises((RefusedError, ValueError)) as raised:
        probe({"problem": str(path)})
    told = raised.value
    assert (str(told) if isinstance(told, RefusedError) else f"it failed: {first_line(told)}") == (
        reason
    )


@pytest.mark.parametrize("name", ["dropout", "an error", "exit"])
def test_what_cannot_be_represented_is_refused_by_name_and_nothing_is_written(
    name: str, tmp_path: Path
) -> None:
    source, reason = problems.REFUSED[name]
    path = problem(tmp_path, source)
    with pytest.raises(UsageError) as raised:
        import_from(path, tmp_path / "task")
    assert raised.value.what == reason
    assert raised.value.where == str(path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["7_Problem.py"]


def test_the_problem_runs_in_the_sandbox(tmp_path: Path) -> None:
    """It cannot read what lies around it; outside, this would name the files."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    body = f"raise ValueError(open({str(secret)!r}).read())"
    path = problem(tmp_path, problems.refused(body))
    with pytest.raises(UsageError, match=r"FileNotFoundError|PermissionError"):
        import_from(path, tmp_path / "task")


def test_an_imported_task_is_admitted(good: Callable[[str], Imported]) -> None:
    admission = admit(good("convolution").task)
    assert admission.survivors == ()
    assert admission.admitted


def test_a_model_new_becomes_a_solution_of_the_task(tmp_path: Path) -> None:
    folder = tmp_path / "problems"
    folder.mkdir()
    problem(folder, problems.CONVOLUTION)
    problem(folder, problems.MODEL_NEW, "new.py")
    problem(
        folder, "from torch.utils.cpp_extension import load_inline\nclass ModelNew: ...", "c.py"
    )
    made = import_from(folder, tmp_path / "task")
    assert made.solutions == ("new",)
    assert made.left_out == (
        "c.py: it builds its own library (cpp_extension), whose flags nobody sees: "
        "make it a CUDA solution",
    )
    assert examined(tmp_path / "task", "new") is None

    # More of them are added to the task that is there, each once.
    more = problem(tmp_path, problems.WRONG_NEW, "wrong.py")
    assert import_from(more, tmp_path / "task").solutions == ("wrong",)
    verdict = examined(tmp_path / "task", "wrong")
    assert verdict is not None
    assert verdict.status is Status.WRONG_VALUE
    with pytest.raises(UsageError, match="there is something already"):
        import_from(more, tmp_path / "task")
    unlike = problem(tmp_path, problems.UNLIKE_NEW, "unlike.py")
    import_from(unlike, tmp_path / "task")
    verdict = examined(tmp_path / "task", "unlike")
    assert verdict is not None
    assert verdict.status is Status.CRASH
    assert "neither the names nor the shapes" in str(verdict.reason)


def test_a_model_new_without_its_problem_is_refused(tmp_path: Path) -> None:
    path = problem(tmp_path, problems.MODEL_NEW, "new.py")
    with pytest.raises(UsageError, match="a ModelNew without its problem"):
        import_from(path, tmp_path / "task")


def test_a_file_without_a_model_is_refused(tmp_path: Path) -> None:
    path = problem(tmp_path, "x = 1\n")
    with pytest.raises(UsageError, match="defines neither class Model nor class ModelNew"):
        import_kernelbench(path, tmp_path / "task")
    path = problem(tmp_path, "class Model: ...\n")
    with pytest.raises(UsageError, match="it defines no get_inputs"):
        import_kernelbench(path, tmp_path / "task")


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    path = problem(tmp_path, problems.ELEMENT_WISE)
    (tmp_path / "task").mkdir()
    (tmp_path / "task/mine").write_text("x")
    with pytest.raises(UsageError, match="there is something already"):
        import_from(path, tmp_path / "task")
    assert [entry.name for entry in (tmp_path / "task").iterdir()] == ["mine"]
