"""Sources of an imported KernelBench problem: its reference, its baseline, its solutions."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from assay.task.exchange import embedded
from assay.task.exchange.embedded import headed

SEED = 20261115
"""Under which every module is made, so that what it draws for itself is the same everywhere."""

OURS = frozenset(
    {"problem", "submission", "module", "torch", "sys", "types", "prepare", "flat", "own_weights"}
    | {"Any", "Callable", "Iterable", "Mapping", "Made", "Outputs", "Problem", "Wide"}
    | {"SOURCE", "SHAPES", "WEIGHTS", "TorchFunctionMode"}
)
"""Names that the generated sources use for themselves."""

_PROBLEM = '''\
class Problem:
    """The problem's module, made once, under one seed, and widened."""

    powers = {powers}
    module: Any = None

    @classmethod
    def answer(cls, inputs: tuple[Any, ...], weights: Mapping[str, torch.Tensor]) -> Any:
        if cls.module is None:
            given = [*inputs, *weights.values()]
            cls.module = cls.made(next(t.device for t in given if isinstance(t, torch.Tensor)))
        own = {{**dict(cls.module.named_parameters()), **dict(cls.module.named_buffers())}}
        for name, value in weights.items():
            own[name].data = value * 2.0 ** cls.powers.get(name, 0)
        with Wide():
            return Outputs.of(cls.module(*inputs))

    @staticmethod
    def made(device: torch.device) -> Any:
        source = types.ModuleType("problem")
        sys.modules["problem"] = source
        exec(compile(SOURCE, "problem.py", "exec"), vars(source))
        torch.manual_seed({seed})
        module = source.Model(*source.get_init_inputs()).double().to(device)
        for part in module.modules():
            for name, value in list(vars(part).items()):
                if isinstance(value, torch.Tensor) and value.is_floating_point():
                    setattr(part, name, value.double())
        return module
'''

_MODULE = '''\
class Made:
    """The module, made once, under one seed."""

    module: Any = None

    @classmethod
    def on(cls, device: torch.device) -> Any:
        if cls.module is None:
            torch.manual_seed({seed})
            cls.module = {maker}(*problem.get_init_inputs()).to(device)
        return cls.module
'''

_PREPARE = '''\
WEIGHTS = {weights}
"""By argument: the parameter's own name, and the power of two that it is scaled by."""


def prepare(function: str, constants: dict[str, torch.Tensor], options: dict[str, Any]) -> Any:
    """The module with the given weights in it."""
    module = Made.on(next(iter(constants.values())).device)
    own = own_weights(module)
    for argument, (name, power) in WEIGHTS.items():
        own[name].data = constants[argument] * 2.0**power
    return module
'''

_OWN = """\
def own_weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}
"""

_MATCHED = '''\
SHAPES = {shapes}
"""Of the problem's own parameters."""


def own_weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """By the problem's names; in their order where the names differ and all shapes agree."""
    own = {{**dict(module.named_parameters()), **dict(module.named_buffers())}}
    if all(name in own and list(own[name].shape) == shape for name, shape in SHAPES.items()):
        return own
    ordered = list(module.parameters())
    if [list(tensor.shape) for tensor in ordered] != list(SHAPES.values()):
        raise TypeError("ModelNew has neither the names nor the shapes of the Model's parameters")
    return dict(zip(SHAPES, ordered))
'''

_SEVERAL = """\
def flat(answer: Any) -> list[torch.Tensor]:
    if isinstance(answer, (tuple, list)):
        return [part for inner in answer for part in flat(inner)]
    return [answer]
"""


@dataclass(frozen=True)
class Weight:
    argument: str
    name: str
    """As the module has it."""
    shape: tuple[int, ...]
    dtype: str
    power: int


@dataclass(frozen=True)
class Signature:
    """How the task's function is called, and how forward is."""

    function: str
    tensors: tuple[str, ...]
    weights: tuple[Weight, ...]
    options: tuple[str, ...]
    call: tuple[str, ...]
    """Arguments of forward in its own order, as source."""
    outputs: int

    @property
    def parameters(self) -> str:
        """Tensors, weights, then options by keyword."""
        every = [*self.tensors, *(weight.argument for weight in self.weights)]
        return ", ".join([*every, *(["*", *self.options] if self.options else [])])


def reference_text(signature: Signature, source: str, of: str) -> str:
    powers = {w.name: w.power for w in signature.weights if w.power}
    weights = ", ".join(f"{w.name!r}: {w.argument}" for w in signature.weights)
    call = "".join(f"{argument}, " for argument in signature.call).rstrip()
    return headed(
        f'"""What is right: the Model of {of}, in float64."""\n\n{embedded.FUTURE}\n\n'
        + "\n".join(embedded.IMPORTS)
        + f"\n\nSOURCE = {embedded.literal(source)}",
        embedded.wide_text(),
        embedded.OUTPUTS,
        _PROBLEM.format(powers=repr(powers), seed=SEED),
        f"def {signature.function}({signature.parameters}):\n"
        f"    return Problem.answer(({call}), {{{weights}}})",
    )


def baseline_text(signature: Signature) -> str:
    return _adapter(signature, "The Model as it is.", "problem.Model", "", _OWN)


def solution_text(signature: Signature) -> str:
    shapes: Mapping[str, Sequence[int]] = {w.name: list(w.shape) for w in signature.weights}
    matched = _MATCHED.format(shapes=repr(dict(shapes)))
    return _adapter(
        signature, "ModelNew as it is.", "submission.ModelNew", "import submission\n", matched
    )


def _adapter(signature: Signature, summary: str, maker: str, imports: str, own: str) -> str:
    parts = [
        f'"""{summary}"""\n\n{embedded.FUTURE}\n\nfrom typing import Any\n\n'
        f"import problem\n{imports}import torch",
        _MODULE.format(seed=SEED, maker=maker),
    ]
    if signature.outputs > 1:
        parts.append(_SEVERAL)
    answer = f"module({', '.join(signature.call)})"
    result = (
        f"{answer}.contiguous()"
        if signature.outputs == 1
        else f"tuple(part.contiguous() for part in flat({answer}))"
    )
    if signature.weights:
        weights = {w.argument: (w.name, w.power) for w in signature.weights}
        parts += [own, _PREPARE.format(weights=repr(weights))]
        head = f"def {signature.function}(module, {signature.parameters}):"
        parts.append(f"{head}\n    return {result}")
    else:
        head = f"def {signature.function}({signature.parameters}):"
        made = f"    module = Made.on({signature.tensors[0]}.device)"
        parts.append(f"{head}\n{made}\n    return {result}")
    return headed(*parts)
