from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from assay.spec.contract import Convention
from assay.spec.errors import UsageError
from assay.spec.solution import Language
from assay.task import TaskFolder
from assay.task import find_solution
from assay.task import load_baseline
from assay.task.loose import LooseFile
from assay.task.loose import LooseTask
from assay.task.loose import parse_file
from assay.task.loose import write_loose_task
from assay.task.shapes import parse_option
from assay.task.shapes import parse_shape
from tests.task.calling import call
from tests.task.calling import expected
from tests.task.calling import make_tensors

REFERENCE = "def scaled(x, w, *, by):\n    return x * w * by\n"
BASELINE = "def slow(x, w, *, by):\n    return x * w * by"
CANDIDATE = """\
#include "assay.h"

static int fast(const assay_tensor* tensors, const double* options, void*) {
    const float* x = static_cast<const float*>(tensors[0].data);
    const float* w = static_cast<const float*>(tensors[1].data);
    float* y = static_cast<float*>(tensors[2].data);
    for (int64_t i = 0; i < assay_elements(&tensors[0]); ++i) {
        y[i] = x[i] * w[i % tensors[1].shape[0]] * static_cast<float>(options[0]);
    }
    return 0;
}
"""
SHAPES = ("x=3x5:float32", "w=5:float32:constant", "y=3x5:float32:out")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.py").write_text(REFERENCE)
    Path("a.py").write_text(BASELINE)
    Path("b.cpp").write_text(CANDIDATE)


def loose(
    shapes: tuple[str, ...] = SHAPES, options: tuple[str, ...] = ("by=2.5",), **more: Any
) -> LooseTask:
    given = {
        "reference": parse_file("r.py:scaled"),
        "baseline": parse_file("a.py:slow:returns"),
        "candidate": parse_file("b.cpp:fast"),
    }
    return LooseTask(
        **(given | more),
        shapes=tuple(map(parse_shape, shapes)),
        options=tuple(map(parse_option, options)),
    )


def complaint(task: LooseTask) -> str:
    with pytest.raises(UsageError) as caught:
        write_loose_task(task, Path("out"))
    assert not Path("out").exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def check_all_rows(task: TaskFolder) -> None:
    for row in task.workloads.rows:
        function = task.task.functions[0]
        tensors = make_tensors(function, row)
        truth = expected(task, function, tensors, row)
        for solution in (load_baseline(task), find_solution(task, "candidate")):
            answer = call(solution, function, tensors, row)
            torch.testing.assert_close(answer.double(), truth, rtol=1e-6, atol=1e-6)


def test_three_files_become_a_task_whose_functions_go_by_one_name() -> None:
    task = write_loose_task(loose(), Path("out"))
    assert [function.name for function in task.task.functions] == ["scaled"]
    assert [a.constant for a in task.task.functions[0].arguments] == [False, True, False]
    assert task.task.name.startswith("loose/scaled-")
    baseline = load_baseline(task).solution
    assert (baseline.language, baseline.convention) == (Language.TORCH, Convention.RETURNS)
    assert find_solution(task, "candidate").solution.language is Language.CPP
    check_all_rows(task)


def test_several_rows_share_names_for_the_extents_that_change() -> None:
    shapes = (
        *(f"small/{shape}" for shape in SHAPES),
        "large/x=7x5:float32",
        "large/w=5:float32:constant",
        "large/y=7x5:float32:out",
    )
    task = write_loose_task(loose(shapes, ("small/by=1", "large/by=2.5")), Path("out"))
    assert [row.id for row in task.workloads.rows] == ["small", "large"]
    x, w, y = task.task.functions[0].arguments
    assert (x.shape, w.shape, y.shape) == (("n0", 5), (5,), ("n0", 5))
    assert task.task.domain.axes["n0"].choices == (3, 7)
    assert task.task.functions[0].options[0].choices == (1, 2.5)
    check_all_rows(task)


def test_a_name_can_be_given_and_evidence_of_two_references_is_kept_apart() -> None:
    assert write_loose_task(loose(name="own/scaled"), Path("named")).task.name == "own/scaled"
    first = write_loose_task(loose(), Path("first")).task.name
    Path("r.py").write_text(REFERENCE + "# other\n")
    assert write_loose_task(loose(), Path("second")).task.name != first


def test_a_file_that_has_the_name_already_is_copied_as_it_is() -> None:
    Path("a.py").write_text(REFERENCE)
    given = loose(baseline=parse_file("a.py:scaled:returns"))
    task = write_loose_task(given, Path("out"))
    assert load_baseline(task).sources == {"baseline.py": REFERENCE.encode()}


def test_triton_is_seen_by_its_import() -> None:
    Path("a.py").write_text("import triton\n" + BASELINE)
    task = write_loose_task(loose(), Path("out"))
    assert load_baseline(task).solution.language is Language.TRITON


def test_a_cuda_source_makes_a_task_for_a_gpu_and_is_called_with_a_stream() -> None:
    Path("b.cu").write_text('#include "assay_cuda.h"\nstatic int fast();\n')
    task = write_loose_task(loose(candidate=parse_file("b.cu:fast")), Path("made"))
    assert task.task.device == "cuda"
    solution = find_solution(task, "candidate")
    assert solution.sealed.solution.language is Language.CUDA
    assert b"void* state, cudaStream_t stream)" in solution.sources["candidate.cu"]
    assert b"return fast(tensors, options, state, stream);" in solution.sources["candidate.cu"]


def test_without_one_it_is_for_the_cpu() -> None:
    assert write_loose_task(loose(), Path("made")).task.device == "cpu"


def test_a_linked_file_is_read() -> None:
    Path("real.py").write_text(REFERENCE)
    Path("r.py").unlink()
    Path("r.py").symlink_to("real.py")
    check_all_rows(write_loose_task(loose(), Path("out")))


def test_nothing_is_overwritten() -> None:
    write_loose_task(loose(), Path("out"))
    with pytest.raises(UsageError, match="there is something already"):
        write_loose_task(loose(), Path("out"))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ((), "no --shape is given"),
        ((*SHAPES, SHAPES[0]), "x stands twice in one row"),
        ((*SHAPES, "b/x=3x5:float32"), "row b has x where the first row has x, w, y"),
        (
            (*SHAPES, "b/x=3:float32", "b/w=5:float32:constant", "b/y=3x5:float32:out"),
            "x differs in kind or rank from the first row",
        ),
    ],
)
def test_rows_that_do_not_fit_are_one_line(shapes: tuple[str, ...], message: str) -> None:
    assert message in complaint(loose(shapes))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("by=1", "by=2"), "by stands twice"),
        (("nowhere/by=1",), "there is no row nowhere"),
    ],
)
def test_options_that_do_not_fit_are_one_line(options: tuple[str, ...], message: str) -> None:
    assert message in complaint(loose(options=options))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("a.py", "def quick(): ...", "a.py: defines no function slow (it defines quick)"),
        ("a.py", "def slow(:", "a.py:1: not Python"),
        ("a.py", BASELINE + "\ndef scaled(): ...", "defines scaled too"),
    ],
)
def test_a_file_without_its_function_is_one_line(file: str, text: str, message: str) -> None:
    Path(file).write_text(text)
    assert message in complaint(loose())


def test_files_that_are_missing_or_of_no_known_language_are_one_line() -> None:
    missing = LooseFile(Path("gone.py"), "slow")
    assert "gone.py: there is no such file" in complaint(loose(baseline=missing))
    Path("a.rs").write_text("fn slow() {}")
    assert "not one of .py" in complaint(loose(baseline=LooseFile(Path("a.rs"), "slow")))
    Path("a.py").write_bytes(b"\xff")
    assert "not UTF-8 at byte 0" in complaint(loose())


@pytest.mark.parametrize("text", ["", "a.py", "a.py:", ":f", "a.py:f g", "a.py:f:sideways"])
def test_a_file_is_given_with_its_function(text: str) -> None:
    with pytest.raises(UsageError, match="not understood"):
        parse_file(text)
