"""The doorbell: a page of shared memory through which calls are revealed one at a time.

Every word that one side waits for carries all that it needs in its own 64 bits, because a weakly
ordered machine (aarch64) may show two stores in either order: a call's number and its slot travel
in one word, and a word of an earlier batch can never be taken for one of this batch.
"""

from __future__ import annotations

import mmap

SIZE = mmap.PAGESIZE
WORDS = SIZE // 8

READY = 0
"""The runner has done its warm calls of this batch number and waits."""
DONE = 1
"""Calls that the runner says are done, counted over its life."""
FIRST_CALL = 8
"""Here begins the ring of revealed calls."""
RING = 64

SLOT_BITS = 24
MOST_SLOTS = 1 << SLOT_BITS


def words(page: mmap.mmap) -> memoryview:
    """The page as signed 64-bit words."""
    return memoryview(page).cast("q")


def call_word(call: int, slot: int) -> int:
    """The word that reveals one call; calls are numbered from 1 over a runner's life."""
    return call << SLOT_BITS | slot


def ring_index(call: int) -> int:
    return FIRST_CALL + call % RING


def slot_of(word: int) -> int:
    return word & (MOST_SLOTS - 1)


def call_of(word: int) -> int:
    return word >> SLOT_BITS
