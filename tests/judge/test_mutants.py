from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest
import torch

from assay.judge.inputs import make_inputs
from assay.judge.limits import check
from assay.judge.mutants import MOST_MUTANTS
from assay.judge.mutants import Mutant
from assay.judge.mutants import mutants
from assay.spec.contract import Tolerance
from assay.spec.distribution import Distribution
from assay.spec.dtype import DType
from assay.spec.errors import DocumentError
from assay.spec.task import Function
from assay.spec.task import Role
from assay.spec.task import Task
from assay.spec.workload import Row
from tests.judge.small_tasks import CLAMPED_GATE
from tests.judge.small_tasks import CLAMPED_GATE_TASK
from tests.judge.small_tasks import LAYER_NORM
from tests.judge.small_tasks import LAYER_NORM_TASK
from tests.judge.small_tasks import RMS_NORM
from tests.judge.small_tasks import RMS_NORM_TASK
from tests.judge.small_tasks import row_of
from tests.judge.small_tasks import seeded
from tests.judge.small_tasks import task_of

WIDE = (6, 24)


def loaded(source: str, name: str) -> Callable[..., torch.Tensor]:
    namespace: dict[str, Any] = {}
    exec(compile(source, "reference", "exec"), namespace)
    function: Callable[..., torch.Tensor] = namespace[name]
    return function


def by_name(source: str, function: Function) -> dict[str, Mutant]:
    return {mutant.name: mutant for mutant in mutants(source, function)}


def survivors(source: str, function: Function, row: Row) -> set[str]:
    """Mutants that no distribution tells from the reference on this row, in float32."""
    reference = loaded(source, function.name)
    left = {m.name: loaded(m.source, function.name) for m in mutants(source, function)}
    for distribution in Distribution:
        inputs = make_inputs(function, row, distribution, seeded(1))
        arguments = [inputs[a.name] for a in function.arguments if a.role is not Role.OUTPUT]
        exact = [a if a is None else a.double() for a in arguments]
        truth = reference(*exact, **row.options)
        baseline = reference(*arguments, **row.options)
        for name, mutant in list(left.items()):
            try:
                output = mutant(*exact, **row.options)
            except (RuntimeError, IndexError, TypeError):
                del left[name]
                continue
            if output.shape != truth.shape or check(truth, baseline, output.float(), Tolerance()):
                del left[name]
    return set(left)


RMS_NORM_ROW = row_of(
    RMS_NORM_TASK.functions[0], {"x": WIDE, "w": WIDE[1:], "y": WIDE}, DType.FLOAT32, eps=1e-6
)
LAYER_NORM_ROW = row_of(
    LAYER_NORM_TASK.functions[0],
    {"x": WIDE, "residual": WIDE, "weight": WIDE[1:], "bias": WIDE[1:], "y": WIDE},
    DType.FLOAT32,
    eps=1e-5,
)
CLAMPED_GATE_ROW = row_of(
    CLAMPED_GATE_TASK.functions[0], {"gate": WIDE, "up": WIDE, "y": WIDE}, DType.FLOAT32, limit=0.7
)


@pytest.mark.parametrize(
    ("source", "task", "row", "equivalent"),
    [
        (RMS_NORM, RMS_NORM_TASK, RMS_NORM_ROW, set()),
        # A sum has no order.
        (LAYER_NORM, LAYER_NORM_TASK, LAYER_NORM_ROW, {"swap_x_residual"}),
        # At the border both branches give the limit.
        (CLAMPED_GATE, CLAMPED_GATE_TASK, CLAMPED_GATE_ROW, {"move_border_line5"}),
    ],
)
def test_every_mutant_falls_but_the_equivalent_ones(
    source: str, task: Task, row: Row, equivalent: set[str]
) -> None:
    function = task.functions[0]
    assert len(mutants(source, function)) > 20
    assert survivors(source, function, row) == equivalent


def test_a_mutant_of_an_absent_argument_is_the_reference_and_says_what_it_needs() -> None:
    function = RMS_NORM_TASK.functions[0]
    row = row_of(function, {"x": WIDE, "y": WIDE}, DType.FLOAT32, eps=1e-6)
    found = by_name(RMS_NORM, function)
    without_effect = survivors(RMS_NORM, function, row)
    assert {"drop_w", "zero_w"} < without_effect
    assert {name for name, mutant in found.items() if "w" in mutant.needs} == without_effect
    # What stands under `if w is not None` needs it too.
    assert found["drop_right_factor_line8"].needs == ("w",)
    assert found["identity"].needs == ("x",)


def test_the_kinds_of_a_norm_are_all_there() -> None:
    found = by_name(LAYER_NORM, LAYER_NORM_TASK.functions[0])
    assert {
        "zeros",
        "negated",
        "identity",
        "drop_weight",
        "zero_bias",
        "eps_times_10",
        "eps_zero",
        "swap_x_residual",
        "swap_weight_bias",
        "half_precision",
        "bfloat16_precision",
        "ignore_first_x",
        "ignore_last_x",
        "swap_sub_line6",
        "swap_div_line8",
        "sub_to_add_line6",
        "drop_right_term_line5",
        "mean_to_sum_line6",
        "mean_without_last_line6",
        "mean_without_first_line6",
        "var_without_last_line7",
        "var_to_std_line7",
        "flip_unbiased_line7",
        "drop_sqrt_line8",
    } <= set(found)


def first_line(source: str) -> str:
    """The body of the mutated `f`, which has one line."""
    definition = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef))
    return ast.unparse(definition.body[-1]).removeprefix("return ")


def one_line(expression: str) -> dict[str, str]:
    """By kind, what becomes of one expression of a tensor x."""
    function = CLAMPED_GATE_TASK.functions[0]
    source = f"import torch\ndef clamped_gate(gate, up, limit):\n    return {expression}\n"
    return {
        mutant.name.removesuffix("_line3"): first_line(mutant.source)
        for mutant in mutants(source, function)
        if mutant.name.endswith("_line3")
    }


@pytest.mark.parametrize(
    ("expression", "kind", "changed"),
    [
        ("gate - up", "swap_sub", "up - gate"),
        ("gate / up", "swap_div", "up / gate"),
        ("gate + up", "add_to_sub", "gate - up"),
        ("gate + up", "drop_left_term", "up"),
        ("gate * up", "drop_right_factor", "gate"),
        ("-gate", "drop_minus", "gate"),
        ("gate > up", "flip_comparison", "gate < up"),
        ("gate > up", "move_border", "gate >= up"),
        ("gate * 3", "constant_plus", "gate * 4"),
        ("gate * 0.5", "constant_minus", "gate * 0.495"),
        ("torch.sqrt(gate)", "drop_sqrt", "gate"),
        ("gate.sqrt()", "drop_sqrt", "gate"),
        ("torch.rsqrt(gate)", "rsqrt_to_sqrt", "torch.sqrt(gate)"),
        ("gate.amax(-1)", "amax_to_amin", "gate.amin(-1)"),
        ("gate.var(-1)", "var_biased", "gate.var(-1, correction=0)"),
        ("gate.var(-1, unbiased=False)", "flip_unbiased", "gate.var(-1, unbiased=True)"),
        (
            "torch.nn.functional.gelu(gate, approximate='tanh')",
            "other_word",
            "torch.nn.functional.gelu(gate, approximate='none')",
        ),
        (
            "gate.sum(dim=(0, 1))",
            "sum_without_last",
            "(lambda t: t.narrow(1, 0, t.shape[1] - 1))(gate).sum(dim=(0, 1))",
        ),
        (
            "torch.mean(gate, 1)",
            "mean_without_first",
            "torch.mean((lambda t: t.narrow(1, 1, t.shape[1] - 1))(gate), 1)",
        ),
        ("gate.sum()", "sum_without_last", "(lambda t: t.flatten()[:-1])(gate).sum()"),
        (
            "gate.mean(1)",
            "mean_unbiased",
            "gate.mean(1) * (lambda t: t.shape[1] / (t.shape[1] - 1))(gate)",
        ),
    ],
)
def test_one_place_is_changed_and_no_other(expression: str, kind: str, changed: str) -> None:
    assert one_line(expression)[kind] == changed


@pytest.mark.parametrize(
    "expression",
    [
        "gate.reshape(gate.shape[0], -1)",
        "gate.view([-1] + [1] * (gate.dim() - 2))",
        "gate.shape[1]",
    ],
)
def test_arithmetic_on_shapes_is_left_alone(expression: str) -> None:
    assert one_line(expression) == {}


def test_helpers_are_mutated_and_signatures_are_not() -> None:
    source = (
        "def helper(gate, by=2):\n    return gate - by\n"
        "def clamped_gate(gate, up, limit=1 + 1):\n    return helper(gate)\n"
    )
    found = by_name(source, CLAMPED_GATE_TASK.functions[0])
    assert {name for name in found if "line" in name} == {
        "swap_sub_line2",
        "sub_to_add_line2",
        "drop_right_term_line2",
    }


def test_mutants_are_the_same_each_time_differ_and_are_limited() -> None:
    function = CLAMPED_GATE_TASK.functions[0]
    body = "\n".join(f"    gate = gate * {n}.5 - up / {n}" for n in range(2, 16))
    source = f"def clamped_gate(gate, up, limit):\n{body}\n    return gate\n"
    found = mutants(source, function)
    assert found == mutants(source, function)
    assert len(found) == MOST_MUTANTS
    assert len({m.name for m in found}) == len({m.source for m in found}) == MOST_MUTANTS
    # The limit cuts none of the kinds off.
    assert {"swap_sub_line2", "swap_div_line2", "constant_plus_line2"} <= {m.name for m in found}


def test_options_and_several_outputs_are_spoilt_one_by_one() -> None:
    task = task_of(
        "split",
        [
            {"name": "x", "role": "input", "shape": ["n"], "dtypes": ["float32"]},
            {"name": "y", "role": "output", "shape": ["n"], "like": "x"},
            {"name": "index", "role": "output", "shape": ["n"], "dtypes": ["int64"]},
        ],
        [
            {"name": "side", "choices": ["left", "right"]},
            {"name": "gain", "low": 0.5, "high": 2.0},
            {"name": "only", "choices": [3]},
        ],
        axes={"n": {"high": 9}},
    )
    source = (
        "def split(x, *, side, gain, only):\n"
        "    return (x * gain if side == 'left' else x, x.to(int))\n"
    )
    found = by_name(source, task.functions[0])
    assert {"zeros_y", "zeros_index", "negated_y", "identity_y"} <= set(found)
    assert {"side_other", "gain_up", "gain_down"} <= set(found)
    assert not {"negated_index", "identity_index", "only_other"} & set(found)
    x = torch.tensor([1.0, 2.0])

    def outputs(name: str) -> list[list[float]]:
        call = loaded(found[name].source, "split")
        return [part.tolist() for part in call(x, side="left", gain=2.0, only=3)]

    assert outputs("zeros_y") == [[0, 0], [1, 2]]
    assert outputs("zeros_index") == [[2, 4], [0, 0]]
    assert outputs("side_other") == [[1, 2], [1, 2]]
    assert outputs("ignore_last_x") == [[2, 0], [1, 0]]


def test_a_reference_that_cannot_be_read_is_told() -> None:
    function = CLAMPED_GATE_TASK.functions[0]
    with pytest.raises(DocumentError, match="reference: line 1"):
        mutants("def :", function)
    with pytest.raises(DocumentError, match="defines no function clamped_gate"):
        mutants("import torch", function)


def test_what_a_function_does_not_reach_is_not_mutated_for_it() -> None:
    source = (
        "def helper(gate):\n    return gate - 1\n"
        "def other(gate):\n    return gate - 2\n"
        "def clamped_gate(gate, up, limit=2):\n    return helper(gate) - up\n"
    )
    found = by_name(source, CLAMPED_GATE_TASK.functions[0])
    assert {name.partition("_line")[2] for name in found if "_line" in name} == {"2", "6"}
