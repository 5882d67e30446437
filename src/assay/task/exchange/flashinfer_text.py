"""Sources of an imported FlashInfer-Bench definition: reference, baseline, solutions."""

from __future__ import annotations

from dataclasses import dataclass

from assay.task.exchange import embedded
from assay.task.exchange.embedded import headed

OURS = ("Wide", "Outputs", "Reference")
"""Names that the generated reference adds to the definition's own source."""

_REFERENCE = '''\
class Reference:
    """A function of the definition, in float64."""

    outputs = {outputs}

    @classmethod
    def answer(cls, function: Callable[..., Any], *inputs: Any) -> Any:
        with Wide():
            found = function(*inputs)
        named = isinstance(found, dict)
        return Outputs.of([found[name] for name in cls.outputs] if named else found)
'''

_RETURNED = '''\
def _returned(answer: Any) -> Any:
    """Outputs one after the other, in the definition's order."""
    if isinstance(answer, dict):
        answer = [answer[name] for name in {outputs}]
    parts = answer if isinstance(answer, (tuple, list)) else (answer,)
    found = tuple(part.contiguous() for part in parts)
    return found[0] if len(found) == 1 else found
'''


@dataclass(frozen=True)
class Signature:
    function: str
    inputs: tuple[str, ...]
    """Tensors and scalars in the definition's order, as run takes them."""
    tensors: tuple[str, ...]
    options: tuple[str, ...]
    outputs: tuple[str, ...]

    def parameters(self, *, outputs: bool) -> str:
        tensors = [*self.tensors, *(self.outputs if outputs else ())]
        return ", ".join([*tensors, *(["*", *self.options] if self.options else [])])


def reference_text(signature: Signature, source: str) -> str:
    return headed(
        source,
        "\n".join(embedded.IMPORTS),
        embedded.wide_text(),
        embedded.OUTPUTS,
        _REFERENCE.format(outputs=repr(signature.outputs)),
        f"def {signature.function}({signature.parameters(outputs=False)}):\n"
        f"    return Reference.answer(run, {', '.join(signature.inputs)})",
    )


def baseline_text(signature: Signature) -> str:
    return headed(
        f'"""The definition\'s reference, as it is."""\n\n{embedded.FUTURE}\n\n'
        "from typing import Any\n\nimport definition as _definition",
        _RETURNED.format(outputs=repr(signature.outputs)),
        f"def {signature.function}({signature.parameters(outputs=False)}):\n"
        f"    return _returned(_definition.run({', '.join(signature.inputs)}))",
    )


def solution_text(signature: Signature, path: str, function: str, *, destination: bool) -> str:
    """An entry that loads the solution's own, and calls it in the definition's order."""
    inputs = ", ".join(signature.inputs)
    head = f"def {signature.function}({signature.parameters(outputs=destination)}):"
    call = f"_submission.{function}({inputs}, {', '.join(signature.outputs)})"
    if not destination:
        call = f"return _returned(_submission.{function}({inputs}))"
    parts = [
        f'"""The solution as it is."""\n\n{embedded.FUTURE}\n\nimport importlib.util\nimport sys\n'
        "from pathlib import Path\nfrom typing import Any",
        embedded.loaded(path),
        f"{head}\n    {call}",
    ]
    if not destination:
        parts.insert(2, _RETURNED.format(outputs=repr(signature.outputs)))
    return headed(*parts)
