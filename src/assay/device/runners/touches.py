"""Touches: input that changes in the moment its call is revealed.

What lies in a slot when a runner is told of a batch could be worked on before the clock starts. So
with a call some bytes of its input change. An answer made before is then not the answer to the
call, and where the change is can only be seen by reading all of the input again.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from collections.abc import Sequence

import torch

from assay.device.runners.batch import Gate
from assay.device.runners.content import Pools
from assay.device.runners.layout import Place
from assay.device.runners.layout import RowLayout
from assay.device.runners.memory import Memory
from assay.device.runners.pieces import Pieces
from assay.device.runners.turn import Turn
from assay.spec.task import Role

_BYTES = 64


class Touches:
    """Of one batch: at the last call of a slot, so that its output answers to what is there."""

    def __init__(
        self,
        memory: Memory,
        layout: RowLayout,
        pools: Pools,
        turn: Turn,
        lot: random.Random,
        most: int,
    ) -> None:
        self._memory = memory
        places = [place for place in layout.filled() if _can_change(place)]
        calls = _last_calls(layout, turn) if places else {}
        chosen = lot.sample(sorted(calls), min(most, len(calls)))
        self.gates: dict[int, Gate] = {}
        """By the index of the call."""
        self.slots: list[int] = []
        for number, place in enumerate(places):
            self._change(layout, pools, place, turn, lot, calls, chosen[number :: len(places)])

    def _change(
        self,
        layout: RowLayout,
        pools: Pools,
        place: Place,
        turn: Turn,
        lot: random.Random,
        calls: Mapping[int, int],
        chosen: Sequence[int],
    ) -> None:
        """One argument, before each of some calls."""
        pieces = Pieces(place.tensor)
        values = pools.draw(place, len(chosen) * _BYTES, lot)
        for number, index in enumerate(chosen):
            slot = lot.choice(turn.slots_of(calls[index]))
            offset, count = pieces.draw(_BYTES, lot)
            offset += turn.shift_at(index) * place.shift_bytes
            new = values[number * _BYTES : number * _BYTES + count]
            pools.change(place, slot, offset, new)
            self.gates[index] = self._gate(layout.start(place, slot) + offset, new)
            self.slots.append(slot)

    def _gate(self, start: int, data: bytes) -> Gate:
        return lambda: self._memory.write(start, data)


def _can_change(place: Place) -> bool:
    """Whether any value may stand at any place: whole numbers may be indices in order."""
    dtype: torch.dtype = getattr(torch, place.tensor.dtype.value)
    return dtype.is_floating_point and place.tensor.elements > 0


def _last_calls(layout: RowLayout, turn: Turn) -> Mapping[int, int]:
    """The unit that has its last call at each index; where calls change content, only those that
    are called once."""
    last = {unit: index for index, unit in enumerate(turn.timed)}
    if any(place.argument.role is Role.INOUT for place in layout.places.values()):
        once = set(turn.called_once)
        last = {unit: at for unit, at in last.items() if once.issuperset(turn.slots_of(unit))}
    return {index: unit for unit, index in last.items()}
