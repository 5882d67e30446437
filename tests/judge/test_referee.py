"""Whole judgements of a tiny task. Of the clock's verdicts only that one came is asserted."""

from __future__ import annotations

import pytest

from assay.judge.case import Contender
from assay.judge.exam import Question
from assay.judge.exam import question_from
from assay.judge.referee import Judgement
from assay.judge.referee import Referee
from assay.spec.distribution import Distribution
from assay.spec.errors import UsageError
from assay.spec.rules import Budget
from assay.spec.rules import Rules
from assay.spec.status import Status
from assay.spec.status import ViolationKind
from tests.device.cpu.making import PLAIN
from tests.device.cpu.making import case
from tests.device.cpu.making import contender
from tests.judge.test_build import CPP

RULES = Rules(generations=5, ab_blocks=2, aa_blocks=2)
BUDGET = Budget(task_seconds=2.0)


def judged(candidate: Contender, baseline: Contender | None = None) -> Judgement:
    return Referee(case(candidate, baseline), rules=RULES, budget=BUDGET).judge()


def test_a_right_candidate_is_timed_against_a_baseline_and_a_twin() -> None:
    judgement = judged(contender(CPP, language="cpp"))
    verdict = judgement.verdict
    assert verdict.verdict.is_timed
    assert verdict.rows[0].baseline_us is not None or verdict.verdict is Status.UNCLEAR
    assert verdict.rows[0].twin_us is not None
    assert verdict.rows[0].twin_us > 0
    assert "one thread a side" in verdict.labels
    assert judgement.builds["candidate"].flags[0] == "-O3"
    assert judgement.records[0].plan.looks == (5,)


def test_a_subtly_wrong_candidate_is_wrong_with_its_first_bad_index() -> None:
    # The last element is left out, as a vector loop without a tail does.
    source = PLAIN + "    y[-1] = x[-1] * 2\n"
    verdict = judged(contender(source)).verdict
    assert verdict.verdict is Status.WRONG_VALUE
    found = verdict.rows[0].wrong
    assert found is not None
    assert found.first_bad_index == (4095,)
    assert (found.wrong_elements, found.elements, found.output) == (1, 4096, "y")
    assert float(found.expected) == pytest.approx(float(found.got) + 0.5, abs=1e-5)
    assert found.reproduce.startswith(
        f"assay judge test/twice --candidate made --reproduce n4096/{found.distribution}/"
    )


def test_a_token_asks_the_same_question_again() -> None:
    bad = case(contender(PLAIN + "    y[-1] = x[-1] * 2\n"))
    first = Referee(bad, rules=RULES).ask(Question(bad.rows[0], Distribution.OFFSET, 77))
    again = Referee(bad, rules=RULES).ask(question_from(bad, "n4096/offset/77"))
    assert first.rows[0].wrong == again.rows[0].wrong
    assert again.verdict is Status.WRONG_VALUE


@pytest.mark.parametrize("token", ["n4096", "n4096/odd/1", "other/normal/1", "n4096/normal/x", ""])
def test_a_token_of_nothing_is_misuse(token: str) -> None:
    with pytest.raises(UsageError, match="no question of this task"):
        question_from(case(contender(PLAIN)), token)


def test_a_candidate_that_is_right_on_frozen_rows_alone_falls_to_hidden_ones() -> None:
    source = (
        "import torch\ndef twice(x, y, *, bias):\n    torch.mul(x, 2, out=y)\n"
        "    y.add_(bias)\n    if x.shape[0] != 4096:\n        y.zero_()\n"
    )
    verdict = judged(contender(source)).verdict
    assert verdict.verdict is Status.WRONG_VALUE
    assert verdict.rows[0].row.startswith("hidden_")


def test_a_candidate_that_differs_from_call_to_call_is_nondeterministic() -> None:
    source = (
        "import torch\ndef twice(x, y, *, bias):\n    y.copy_(2 * x + bias + torch.rand(1) / 1e4)\n"
    )
    verdict = judged(contender(source)).verdict
    assert verdict.verdict is Status.NONDETERMINISTIC
    assert verdict.reason is not None
    assert "two equal calls differ in y" in verdict.reason


def test_a_candidate_that_is_wrong_only_when_it_is_timed_is_found() -> None:
    # It counts its calls and cheats once the exam, which makes two calls a question, is over.
    source = (
        "import torch\nrows = {}\ndef twice(x, y, *, bias):\n"
        "    rows[y.data_ptr()] = 1\n    torch.mul(x, 2, out=y)\n"
        "    if len(rows) < 40:\n        y.add_(bias)\n"
    )
    rules = Rules(generations=12, ab_blocks=6, aa_blocks=2)
    verdict = Referee(case(contender(source)), rules=rules, budget=Budget(task_seconds=8.0)).judge()
    assert verdict.verdict.verdict is Status.WRONG_VALUE
    assert verdict.verdict.reason is not None
    assert "in a timed call" in verdict.verdict.reason


def test_what_does_not_build_load_or_answer_is_a_verdict_not_an_error() -> None:
    broken = judged(contender("int f( {", language="cpp")).verdict
    assert broken.verdict is Status.BUILD_ERROR
    unloadable = judged(contender("import nothing_at_all\n")).verdict
    assert unloadable.verdict is Status.IMPORT_ERROR
    fast = contender(CPP, language="cpp", flags=["-ffast-math"])
    refused = judged(fast, contender(CPP, language="cpp")).verdict
    assert refused.rows[0].violation is ViolationKind.BUILD_FLAGS


def test_a_bad_baseline_or_reference_is_the_tasks_fault_and_said_so() -> None:
    with pytest.raises(UsageError, match="the baseline does not build"):
        judged(contender(PLAIN), contender("int f( {", language="cpp"))
    with pytest.raises(UsageError, match="the baseline does not load"):
        judged(contender(PLAIN), contender("import nothing_at_all\n"))
    with pytest.raises(UsageError, match="the baseline failed"):
        judged(contender(PLAIN), contender("def twice(x, y, *, bias):\n    1 / 0\n"))


TRITON = """
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(x, y, bias, n, x_step, y_step, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + i * x_step, mask=i < n)
        tl.store(y + i * y_step, 2 * value + bias, mask=i < n)

    def twice(x, y, *, bias):
        n = x.numel()
        kernel[(triton.cdiv(n, 1024),)](x, y, bias, n, x.stride(0), y.stride(0), BLOCK=1024)
"""


def test_triton_is_interpreted_examined_and_never_timed() -> None:
    verdict = judged(contender(TRITON, language="triton")).verdict
    assert verdict.verdict is Status.UNCLEAR
    assert verdict.reason == "right, but not timed: Triton's interpreter has no speed"
    assert "Triton interpreter: correctness only" in verdict.labels


def test_triton_that_ignores_strides_falls_to_a_hidden_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Hidden rows are drawn by chance; with this seed one of them is strided.
    monkeypatch.setattr("assay.judge.referee.secrets.randbits", lambda bits: 7)
    source = TRITON.replace("i * x_step", "i").replace("i * y_step", "i")
    verdict = judged(contender(source, language="triton")).verdict
    assert verdict.verdict is Status.WRONG_VALUE
    assert verdict.rows[0].row.startswith("hidden_")


def test_conventions_and_preparation_are_labelled() -> None:
    returns = contender("def twice(x, *, bias):\n    return 2 * x + bias\n", convention="returns")
    assert "candidate: returns" in Referee(case(returns))._labels
    prepared = contender(
        "import torch\ndef pack(n, c, o):\n    return 2.0\n"
        "def twice(s, x, y, *, bias):\n    torch.mul(x, s, out=y)\n    y.add_(bias)\n",
        prepare="pack",
    )
    judgement = judged(prepared)
    assert "prepare step timed apart" in judgement.verdict.labels
    assert judgement.prepare_us["n4096"] > 0
