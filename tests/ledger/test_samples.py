from __future__ import annotations

import functools
import gzip
import json
import random
import zlib
from typing import Any

import pytest
from pydantic import ValidationError

from assay.ledger import Samples
from assay.spec.errors import EvidenceError

# A time stamp would give each test process other names for the same tests.
packed = functools.partial(gzip.compress, mtime=0)


def realistic(count: int = 1600) -> Samples:
    noise = random.Random(0)
    return Samples(
        columns={
            "process": [index * 8 // count for index in range(count)],
            "block": [index // 4 for index in range(count)],
            "position": [index % 4 for index in range(count)],
            "side": ["ABBA"[index % 4] for index in range(count)],
            "launches": [noise.randrange(120, 136) for _ in range(count)],
            "nanoseconds": [noise.randrange(5_000_000, 20_000_000) for _ in range(count)],
        }
    )


def test_sixteen_hundred_samples_take_at_most_twenty_kilobytes() -> None:
    # Every digit of the times is noise here, which is worse than any clock.
    assert len(realistic().member) <= 20_000


def test_samples_come_back_as_they_were() -> None:
    samples = Samples(columns={"side": ["A", "é"], "ns": [10**30, -1], "ratio": [0.1, 1e-300]})

    assert Samples.from_member(samples.member) == samples
    assert samples.count == 2


def test_members_one_after_the_other_unpack_to_json_lines() -> None:
    one, two = Samples(columns={"a": [1]}), Samples(columns={"a": [2, 3]})

    assert gzip.decompress(one.member + two.member) == b'{"a":[1]}\n{"a":[2,3]}\n'


def test_equal_samples_give_equal_bytes_without_a_time_stamp() -> None:
    assert realistic().member == realistic().member
    assert realistic().member[4:8] == b"\0\0\0\0"


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [1], "b": [1, 2]},
        {"a": [float("nan")]},
        {"a": [float("inf")]},
        {"a": [True]},
        {"a": [None]},
        {"a b": [1]},
        {"a": (1, 2)},
    ],
)
def test_columns_are_equally_long_lists_of_plain_values(columns: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Samples(columns=columns)


def test_no_columns_are_no_samples() -> None:
    assert Samples(columns={}).count == 0


@pytest.mark.parametrize(
    "member",
    [
        b"",
        b"plain",
        packed(b'{"a":[1]}')[:-1],
        packed(b'{"a":[1]}') + b"x",
        packed(b'{"a":[1]}') * 2,
        packed(b'{"a":[NaN]}'),
        packed(b"[1]"),
        packed(b'{"a":' + b"[" * 100_000),
        packed(b"\xff"),
    ],
)
def test_bytes_that_are_not_one_member_of_columns_are_refused(member: bytes) -> None:
    with pytest.raises(EvidenceError, match="samples"):
        Samples.from_member(member)


def test_a_member_that_unpacks_without_end_is_refused() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = packer.compress(json.dumps({"a": [0] * 100}).encode()) + packer.flush()

    with pytest.raises(EvidenceError, match="not one gzip member"):
        Samples.from_member(bomb, longest=100)
