"""Layout: where each argument of a row lies in each slot of an arena.

    slot 0                                   slot 1
    | guard | x | guard | y | guard | …      | guard | x | …
    constants stand once, before the first slot

All slots are equally long, so that one strided copy refreshes an argument in all of them.

Where slots are called again and again, an input has room for several *shifts*: it is seen at its
start, or a little further on. Other elements then stand at every place of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from assay.spec.errors import UsageError
from assay.spec.task import Argument
from assay.spec.task import Function
from assay.spec.task import Option
from assay.spec.task import Role
from assay.spec.workload import Row
from assay.spec.workload import Scalar
from assay.spec.workload import TensorSpec

GUARD = 512
"""Bytes of poison before and after every tensor: a vector loop that runs over is seen."""
_ALIGN = 64
_MOST_SLOTS = 4096
"""More would make binding a row slower than timing it."""
_USUAL_SLOTS = 512
_SHIFT = 5 * _ALIGN
"""Bytes from one shift to the next, and more where that is a whole number of last-axis slices: each
slice would then only have moved."""


@dataclass(frozen=True)
class Place:
    """One argument: its tensor, and the byte of its storage in slot 0."""

    argument: Argument
    tensor: TensorSpec
    start: int
    shifts: int = 1

    @property
    def storage_bytes(self) -> int:
        return self.tensor.storage_elements * self.tensor.dtype.itemsize

    @property
    def shift_bytes(self) -> int:
        """From one shift to the next; 0 where there is one alone."""
        if self.shifts == 1:
            return 0
        line = self.tensor.shape[-1] * self.tensor.dtype.itemsize if self.tensor.shape else 0
        return _SHIFT if line == 0 or _SHIFT % line else _SHIFT + _ALIGN

    @property
    def room_bytes(self) -> int:
        """What all shifts take together."""
        return self.storage_bytes + (self.shifts - 1) * self.shift_bytes

    def description(self) -> dict[str, Any]:
        """The tensor as the wire says it."""
        return {
            "shape": list(self.tensor.shape),
            "strides": list(self.tensor.strides or self.tensor.contiguous_strides),
            "offset": self.tensor.offset,
            "dtype": self.tensor.dtype.value,
            "storage_bytes": self.storage_bytes,
        }


@dataclass(frozen=True)
class RowLayout:
    row: Row
    function: Function
    places: dict[str, Place]
    slots: int
    first_slot: int
    slot_bytes: int
    shifts: int = 1

    @property
    def bytes(self) -> int:
        return self.first_slot + self.slots * self.slot_bytes

    def start(self, place: Place, slot: int) -> int:
        return place.start if place.argument.constant else place.start + slot * self.slot_bytes

    def written(self) -> list[Place]:
        """Places that a call writes, in declared order."""
        return [p for p in self.places.values() if p.argument.role is not Role.INPUT]

    def outputs(self) -> list[Place]:
        """Places that hold nothing before a call."""
        return [p for p in self.places.values() if p.argument.role is Role.OUTPUT]

    def filled(self) -> list[Place]:
        """Places that have content of their own in every slot."""
        return [
            place
            for place in self.places.values()
            if place.argument.role is not Role.OUTPUT and not place.argument.constant
        ]

    def constants(self) -> list[Place]:
        return [place for place in self.places.values() if place.argument.constant]

    def request(self, name: str) -> dict[str, Any]:
        """What a runner must know to make its tensors."""
        return {
            "do": "row",
            "row": name,
            "function": self.function.name,
            "slots": self.slots * self.shifts,
            "options": {
                option.name: self.row.options[option.name] for option in self.function.options
            },
            "numbers": [_number(o, self.row.options[o.name]) for o in self.function.options],
            "arguments": [self._argument(argument) for argument in self.function.arguments],
        }

    def _argument(self, argument: Argument) -> dict[str, Any]:
        place = self.places.get(argument.name)
        return {
            "name": argument.name,
            "role": argument.role.value,
            "constant": argument.constant,
            "tensor": None if place is None else place.description(),
            "starts": []
            if place is None
            else [
                self.start(place, slot) + shift * place.shift_bytes
                for shift in range(self.shifts)
                for slot in range(self.slots)
            ],
        }


def _number(option: Option, value: Scalar) -> float:
    """An option as a native solution is given it: a word is its place among the choices."""
    if isinstance(value, str):
        return float((option.choices or (value,)).index(value))
    return float(value)


def lay_out(function: Function, row: Row, slots: int, shifts: int = 1) -> RowLayout:
    """The layout of a row with so many slots, whose inputs are seen at so many shifts."""
    constants: dict[str, Place] = {}
    others: dict[str, Place] = {}
    end = GUARD
    for argument in _present(function, row, constant=True):
        constants[argument.name] = place = _place(argument, row, end)
        end = _after(place)
    first_slot = end
    end += GUARD
    for argument in _present(function, row, constant=False):
        others[argument.name] = place = _place(argument, row, end, shifts)
        end = _after(place)
    places = {
        a.name: (constants | others)[a.name] for a in function.arguments if row.tensors.get(a.name)
    }
    return RowLayout(row, function, places, slots, first_slot, end - first_slot, shifts)


def _present(function: Function, row: Row, *, constant: bool) -> list[Argument]:
    return [
        argument
        for argument in function.arguments
        if argument.constant is constant and row.tensors.get(argument.name) is not None
    ]


def _place(argument: Argument, row: Row, start: int, shifts: int = 1) -> Place:
    tensor = row.tensors[argument.name]
    assert tensor is not None
    return Place(argument, tensor, start, shifts if _can_shift(argument, tensor) else 1)


def _can_shift(argument: Argument, tensor: TensorSpec) -> bool:
    """What is only read, and where any value may stand at any place: whole numbers may be indices
    in order."""
    return argument.role is Role.INPUT and tensor.dtype.is_floating and tensor.elements > 0


def _after(place: Place) -> int:
    end = place.start + place.room_bytes + GUARD
    return math.ceil(end / _ALIGN) * _ALIGN


def slots_for(
    function: Function, row: Row, launches: int, cache_bytes: int, most_bytes: int
) -> int:
    """Slots for batches of `launches` calls: each call has one of its own, and together they are
    more than three times the last-level cache, where that fits."""
    one = lay_out(function, row, 1).slot_bytes
    slots = max(launches, math.ceil(3 * cache_bytes / one))
    if slots * one > most_bytes:
        slots = launches
    if slots * one > most_bytes:
        raise UsageError(
            f"row {row.id} needs {slots * one >> 20} MiB for {launches} calls, more than "
            f"{most_bytes >> 20} MiB",
            next_step="shorten the batch or split the row",
        )
    return slots


def rotated_slots(
    function: Function,
    row: Row,
    launches: int,
    *,
    least_bytes: int,
    usual_bytes: int,
    fewest: int,
    least: int,
    most_bytes: int,
) -> int:
    """Slots that calls take turns on: over `least_bytes` together, `usual_bytes` where a row is
    large enough for that to be few slots, as few as `fewest`, and no more than there are calls;
    fewer only where there is no room for more, and never under `least`."""
    one = lay_out(function, row, 1).slot_bytes
    cold = min(math.ceil(least_bytes / one), _MOST_SLOTS)
    usual = min(math.ceil(usual_bytes / one), _USUAL_SLOTS)
    slots = min(launches, max(cold, usual, fewest))
    if slots <= fewest:
        slots = min(slots, max(most_bytes // one, min(launches, least)))
    if slots * one > most_bytes:
        raise UsageError(
            f"row {row.id} needs {slots * one >> 20} MiB for {slots} slots, more than "
            f"{most_bytes >> 20} MiB",
            next_step="a device with more memory, or a smaller row",
        )
    return slots
