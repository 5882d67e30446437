from __future__ import annotations

import random

import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.device.runners.pieces import Pieces
from assay.spec.dtype import DType
from assay.spec.workload import TensorSpec

DENSE = TensorSpec(shape=(8, 16), dtype=DType.FLOAT32)
PADDED = TensorSpec(shape=(8, 16), dtype=DType.FLOAT32, strides=(40, 1), offset=3)
COLUMNS = TensorSpec(shape=(8, 16), dtype=DType.FLOAT32, strides=(1, 20))
BROADCAST = TensorSpec(shape=(8, 16), dtype=DType.FLOAT32, strides=(0, 1))
SCATTERED = TensorSpec(shape=(4, 4), dtype=DType.FLOAT32, strides=(20, 2))


@given(
    st.sampled_from([DENSE, PADDED, COLUMNS, BROADCAST, SCATTERED]),
    st.integers(1, 700),
    st.integers(0, 2**32),
)
def test_a_piece_is_whole_elements_and_touches_no_gap(
    tensor: TensorSpec, most: int, seed: int
) -> None:
    offset, count = Pieces(tensor).draw(most, random.Random(seed))
    elements = torch.zeros(tensor.storage_elements, dtype=torch.bool)
    strides = tensor.strides or tensor.contiguous_strides
    elements.as_strided(tensor.shape, strides, tensor.offset).fill_(True)
    assert offset % 4 == count % 4 == 0
    assert 4 <= count <= max(most, 4)
    assert elements[offset // 4 : (offset + count) // 4].all()
    assert (offset + count) // 4 <= tensor.storage_elements


def test_every_element_is_drawn_sooner_or_later() -> None:
    lot = random.Random(1)
    drawn = {Pieces(SCATTERED).draw(4, lot)[0] // 4 for _ in range(500)}
    assert drawn == {20 * i + 2 * j for i in range(4) for j in range(4)}
