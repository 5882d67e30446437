"""Session: one row as one runner knows it, and what the referee finds in its memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field

import torch

from assay.device.failure import violation
from assay.device.runners.bits import same_bits
from assay.device.runners.content import Pools
from assay.device.runners.layout import RowLayout
from assay.device.runners.views import Poison
from assay.device.runners.views import Views
from assay.spec.status import ViolationKind
from assay.spec.task import Role

Tensors = dict[str, torch.Tensor | None]


@dataclass(frozen=True)
class Exam:
    """One call's inputs as they lay in memory, and the outputs of identical calls."""

    inputs: Tensors
    outputs: tuple[dict[str, torch.Tensor], ...]

    @property
    def first(self) -> dict[str, torch.Tensor]:
        return self.outputs[0]


@dataclass(frozen=True)
class KeptCall:
    """A timed call, chosen after it was made."""

    row: str
    inputs: Tensors
    outputs: dict[str, torch.Tensor]


@dataclass
class Session:
    name: str
    layout: RowLayout
    views: Views
    pools: Pools | None = None
    constants: dict[str, torch.Tensor] = field(default_factory=dict)
    """What the referee put there, to be believed whatever lies there now."""
    prepare_ns: int = 0
    next_slot: int = 0

    def next_window(self, size: int) -> slice:
        """The slots of the next batch: windows go round and round through all of them."""
        size = min(size, self.layout.slots)
        if self.next_slot + size > self.layout.slots:
            self.next_slot = 0
        window = slice(self.next_slot, self.next_slot + size)
        self.next_slot += size
        return window

    def fill(self, contents: Mapping[str, torch.Tensor | None], poison: Poison) -> Tensors:
        """The given contents in every slot; returns the inputs as they then lie in the first."""
        self.views.poison(poison, slice(0, self.layout.slots))
        inputs: Tensors = {}
        for argument in self.layout.function.arguments:
            place = self.layout.places.get(argument.name)
            if argument.role is Role.OUTPUT:
                continue
            content = contents[argument.name]
            if place is None or content is None:
                inputs[argument.name] = None
                continue
            for slot in range(1 if argument.constant else self.layout.slots):
                _write(self.views.tensor(place, slot), content)
            inputs[argument.name] = self.views.tensor(place, 0)
        return inputs

    def set_constants(self, contents: Mapping[str, torch.Tensor | None]) -> None:
        """The arguments that all calls share."""
        for place in self.layout.constants():
            content = contents[place.argument.name]
            assert content is not None
            there = self.views.tensor(place, 0)
            there.copy_(content)
            self.constants[place.argument.name] = there.clone()

    def renew(self, poison: Poison, window: slice, *, anew: bool = True) -> None:
        """Before a batch: new content and new poison in a window's slots."""
        assert self.pools is not None
        self.views.poison_outputs(poison, window)
        self.pools.refresh(self.views, window, anew=anew)

    def outputs(self, slot: int) -> dict[str, torch.Tensor]:
        return {
            place.argument.name: self.views.tensor(place, slot).clone()
            for place in self.layout.written()
        }

    def kept(self, slot: int, shift: int = 0, *, check_inputs: bool = True) -> KeptCall:
        """The last timed call of a slot, which saw its inputs at that shift: with the inputs that
        the referee gave it, which must still be there."""
        assert self.pools is not None
        inputs: Tensors = {}
        for argument in self.layout.function.arguments:
            place = self.layout.places.get(argument.name)
            if argument.role is Role.OUTPUT:
                continue
            if place is None:
                inputs[argument.name] = None
            elif argument.constant:
                given = self.constants[argument.name]
                if check_inputs and not same_bits(self.views.tensor(place, 0), given):
                    raise _input_written(argument.name)
                inputs[argument.name] = given.clone()
            else:
                unchanged = self.pools.unchanged(self.views, slot, place)
                if check_inputs and argument.role is Role.INPUT and not unchanged:
                    raise _input_written(argument.name)
                inputs[argument.name] = self.pools.written(place, slot, shift)
        return KeptCall(self.layout.row.id, inputs, self.outputs(slot))

    def check_bounds(self, slot: int, poison: Poison) -> None:
        name = self.views.broken_guard(slot, poison)
        if name is not None:
            raise violation(ViolationKind.SLOT_WRITTEN, f"it wrote beside argument {name}")

    def check_inputs(self, slot: int, before: Tensors) -> None:
        for place in self.layout.places.values():
            if place.argument.role is not Role.INPUT:
                continue
            was = before[place.argument.name]
            assert was is not None
            if not same_bits(self.views.tensor(place, slot), was):
                raise _input_written(place.argument.name)


def _input_written(name: str) -> Exception:
    return violation(ViolationKind.INPUT_WRITTEN, f"it changed its input {name}")


def _write(target: torch.Tensor, content: torch.Tensor) -> None:
    """Copy content into a tensor that may have broadcast axes: of those the first index counts."""
    for axis, stride in enumerate(target.stride()):
        if stride == 0 and target.shape[axis] > 1:
            target, content = target.narrow(axis, 0, 1), content.narrow(axis, 0, 1)
    target.copy_(content)
