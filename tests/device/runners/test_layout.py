from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from assay.device.runners.content import Pools
from assay.device.runners.content import RowSource
from assay.device.runners.host_memory import HostMemory
from assay.device.runners.layout import GUARD
from assay.device.runners.layout import Place
from assay.device.runners.layout import lay_out
from assay.device.runners.layout import rotated_slots
from assay.device.runners.layout import slots_for
from assay.device.runners.views import Poison
from assay.device.runners.views import Views
from assay.spec.dtype import DType
from assay.spec.errors import UsageError
from assay.spec.task import Argument
from assay.spec.task import Function
from assay.spec.task import Option
from assay.spec.task import Role
from assay.spec.workload import Row
from assay.spec.workload import TensorSpec

FUNCTION = Function(
    name="f",
    summary="s",
    arguments=(
        Argument(name="x", role=Role.INPUT, shape=("n",), dtypes=(DType.FLOAT32,)),
        Argument(name="w", role=Role.INPUT, shape=("n",), dtypes=(DType.FLOAT32,), constant=True),
        Argument(name="y", role=Role.OUTPUT, shape=("n",), dtypes=(DType.FLOAT32,)),
    ),
)


def row(elements: int) -> Row:
    spec = TensorSpec(shape=(elements,), dtype=DType.FLOAT32)
    return Row(id="r", function="f", tensors={"x": spec, "w": spec, "y": spec})


def test_nothing_overlaps_and_every_tensor_has_guards_on_both_sides() -> None:
    layout = lay_out(FUNCTION, row(100), slots=3)
    spans = [(layout.places["w"].start, 400)]
    for slot in range(3):
        spans += [(layout.start(layout.places[name], slot), 400) for name in ("x", "y")]
    spans.sort()
    assert spans[0][0] >= GUARD
    for (start, length), (following, _) in pairwise(spans):
        assert following - (start + length) >= GUARD
    assert spans[-1][0] + 400 + GUARD <= layout.bytes
    assert all(start % 64 == 0 for start, _ in spans)


def test_a_constant_stands_once_for_all_slots() -> None:
    layout = lay_out(FUNCTION, row(8), slots=5)
    place = layout.places["w"]
    assert {layout.start(place, slot) for slot in range(5)} == {place.start}


def test_each_call_has_a_slot_and_slots_span_three_caches() -> None:
    one = lay_out(FUNCTION, row(1024), 1).slot_bytes
    assert slots_for(FUNCTION, row(1024), 10, cache_bytes=1 << 20, most_bytes=1 << 30) == -(
        -3 * (1 << 20) // one
    )
    assert slots_for(FUNCTION, row(1024), 5000, cache_bytes=1 << 20, most_bytes=1 << 30) == 5000
    # Three caches do not fit: as many as the calls need.
    assert slots_for(FUNCTION, row(1024), 10, cache_bytes=1 << 20, most_bytes=1 << 20) == 10


def test_a_row_that_cannot_fit_is_refused_with_its_size() -> None:
    with pytest.raises(UsageError, match=r"row r needs 15 MiB for 10 calls, more than 1 MiB"):
        slots_for(FUNCTION, row(200_000), 10, cache_bytes=1, most_bytes=1 << 20)


@pytest.mark.parametrize(
    ("elements", "launches", "slots"),
    [
        (64, 10, 10),  # no more slots than calls
        (64, 100_000, 1536),  # tiny: as many as are three caches together
        (10_000, 100_000, 512),  # the usual number, which is more than three caches
        (100_000, 100_000, 250),  # the usual bytes, a little under 200 MB
        (4_000_000, 100_000, 10),  # large: the fewest that a turn needs
        (4_000_000, 3, 3),
    ],
)
def test_rotated_slots_are_cold_and_few(elements: int, launches: int, slots: int) -> None:
    found = rotated_slots(
        FUNCTION,
        row(elements),
        launches,
        least_bytes=3 << 20,
        usual_bytes=200_000_000,
        fewest=10,
        least=4,
        most_bytes=1 << 40,
    )
    assert found == slots


@pytest.mark.parametrize(
    ("megabytes", "launches", "slots"), [(400, 100, 10), (230, 100, 7), (230, 3, 3), (130, 100, 4)]
)
def test_a_row_too_large_for_many_slots_has_as_many_as_there_is_room_for(
    megabytes: int, launches: int, slots: int
) -> None:
    assert _of_32_megabytes(megabytes, launches) == slots


def test_a_row_too_large_for_the_least_slots_is_refused() -> None:
    with pytest.raises(UsageError, match="for 4 slots"):
        _of_32_megabytes(127, 100)


def _of_32_megabytes(megabytes: int, launches: int) -> int:
    return rotated_slots(
        FUNCTION,
        row(4_000_000),
        launches,
        least_bytes=1,
        usual_bytes=1,
        fewest=10,
        least=4,
        most_bytes=megabytes * 1_000_000,
    )


def test_poison_is_seen_where_it_was_and_missed_where_it_was_not() -> None:
    layout = lay_out(FUNCTION, row(64), slots=2)
    views = Views(HostMemory(layout.bytes, "test"), layout)
    poison = Poison.fresh()
    views.poison(poison, slice(0, 2))
    assert views.untouched(0, poison)
    assert views.wholly_poisoned(0, poison)
    assert views.broken_guard(0, poison) is None

    views.tensor(layout.places["y"], 0)[5] = 1.0
    assert not views.untouched(0, poison)
    assert views.untouched(1, poison)
    assert not views.wholly_poisoned(0, Poison(poison.byte % 254 + 1))


def test_between_batches_outputs_and_guards_are_poisoned_and_inputs_left_alone() -> None:
    layout = lay_out(FUNCTION, row(64), slots=3)
    views = Views(HostMemory(layout.bytes, "test"), layout)
    views.tensor(layout.places["x"], 1).fill_(3.0)
    views.poison_outputs(Poison(77), slice(1, 3))
    assert views.untouched(1, Poison(77))
    assert views.untouched(2, Poison(77))
    assert views.broken_guard(1, Poison(77)) is None
    assert views.tensor(layout.places["x"], 1).tolist() == [3.0] * 64
    assert not views.untouched(0, Poison(77))
    assert views.broken_guard(0, Poison(77)) is not None


@pytest.mark.parametrize("before", [True, False])
def test_one_byte_beside_a_tensor_breaks_its_guard(before: bool) -> None:
    layout = lay_out(FUNCTION, row(64), slots=2)
    arena = HostMemory(layout.bytes, "test")
    views = Views(arena, layout)
    poison = Poison.fresh()
    views.poison(poison, slice(0, 2))
    start = layout.start(layout.places["y"], 1)
    arena.flat[start - 1 if before else start + 256] ^= 1
    assert views.broken_guard(1, poison) == "y"
    assert views.broken_guard(0, poison) is None


def test_the_storage_of_all_slots_is_one_matrix() -> None:
    layout = lay_out(FUNCTION, row(16), slots=4)
    views = Views(HostMemory(layout.bytes, "test"), layout)
    matrix = views.storage(layout.places["x"])
    assert matrix.shape == (4, 16)
    matrix[2] = 7.0
    assert views.tensor(layout.places["x"], 2).tolist() == [7.0] * 16
    assert views.tensor(layout.places["x"], 1).tolist() == [0.0] * 16


def test_a_shifted_input_has_room_and_other_elements_at_every_place() -> None:
    layout = lay_out(FUNCTION, row(64), slots=2, shifts=3)
    x, w, y = (layout.places[name] for name in ("x", "w", "y"))
    assert (x.shifts, w.shifts, y.shifts) == (3, 1, 1)
    assert y.start >= x.start + 64 * 4 + 2 * x.shift_bytes + GUARD
    assert x.shift_bytes % 64 == 0
    assert x.shift_bytes % (64 * 4) != 0
    arguments = layout.request("r")["arguments"]
    starts = {argument["name"]: argument["starts"] for argument in arguments}
    assert layout.request("r")["slots"] == 6
    assert starts["x"] == [
        layout.start(x, slot) + shift * x.shift_bytes for shift in range(3) for slot in range(2)
    ]
    assert starts["y"] == [layout.start(y, slot) for _ in range(3) for slot in range(2)]


@pytest.mark.parametrize("width", [5, 20, 64, 80, 160])
def test_a_shift_is_never_a_whole_number_of_slices(width: int) -> None:
    spec = TensorSpec(shape=(3, width), dtype=DType.FLOAT32)
    argument = Argument(name="x", role=Role.INPUT, shape=("m", "n"), dtypes=(DType.FLOAT32,))
    assert Place(argument, spec, 0, shifts=2).shift_bytes % (width * 4) != 0


def test_what_a_shifted_call_saw_is_known() -> None:
    layout = lay_out(FUNCTION, row(64), slots=3, shifts=4)
    memory = HostMemory(layout.bytes, "test")
    views, x = Views(memory, layout), layout.places["x"]
    source = RowSource(FUNCTION, row(64), lambda: {n: torch.randn(64) for n in ("x", "w", "y")})
    pools = Pools(source, layout)
    views.poison_outputs(Poison(7), slice(0, 3))
    pools.refresh(views, slice(0, 3))
    assert views.broken_guard(1, Poison(7)) is None
    seen = [views.tensor(x, 1, shift).tolist() for shift in range(4)]
    assert seen == [pools.written(x, 1, shift).tolist() for shift in range(4)]
    assert len({tuple(values) for values in seen}) == 4
    assert pools.unchanged(views, 1, x)
    views.tensor(x, 1, 3)[63] += 1
    assert not pools.unchanged(views, 1, x)


def test_a_native_solution_is_given_numbers_for_its_options() -> None:
    options = (
        Option(name="norm", choices=("layer", "rms")),
        Option(name="eps", low=0.0, high=1.0),
        Option(name="neox", choices=(True, False)),
    )
    function = FUNCTION.model_copy(update={"options": options})
    called = row(64).model_copy(update={"options": {"eps": 0.5, "neox": True, "norm": "rms"}})
    request = lay_out(function, called, slots=1).request("r")
    assert request["numbers"] == [1.0, 0.5, 1.0]
    assert request["options"] == {"norm": "rms", "eps": 0.5, "neox": True}
