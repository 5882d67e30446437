from __future__ import annotations

import torch

from assay.device.runners.bits import same_bits


def test_layout_does_not_matter_and_every_bit_does() -> None:
    plain = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4)
    strided = torch.zeros(3, 9, dtype=torch.bfloat16)[:, ::2][:, :4].copy_(plain)
    assert same_bits(plain, strided)
    strided[2, 3] = 12
    assert not same_bits(plain, strided)


def test_a_single_element_with_an_odd_stride_is_compared_too() -> None:
    lone = torch.ones(4, 2, dtype=torch.bfloat16)[:, 1:].as_strided((4, 1), (2, 2))
    assert same_bits(lone, torch.ones(4, 1, dtype=torch.bfloat16))


def test_zeros_of_either_sign_and_nan_payloads_differ() -> None:
    assert not same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
    quiet = torch.tensor([0x7FC00000], dtype=torch.int32).view(torch.float32)
    other = torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32)
    assert same_bits(quiet, quiet)
    assert not same_bits(quiet, other)


def test_empty_tensors_are_the_same() -> None:
    assert same_bits(torch.empty(0, 3), torch.empty(0, 3))
