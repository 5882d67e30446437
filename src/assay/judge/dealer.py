"""Dealer: random choices that are balanced, so that a handful of draws sees every one."""

from __future__ import annotations

import random
from collections.abc import Hashable
from collections.abc import Sequence
from typing import Any
from typing import TypeVar

T = TypeVar("T")


class Dealer:
    """Deals each key's choices in random order, and shuffles anew only when all have been out."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._decks: dict[Hashable, list[Any]] = {}

    def deal(self, key: Hashable, choices: Sequence[T]) -> T:
        deck = self._decks.get(key)
        if not deck:
            deck = self.rng.sample(list(choices), len(choices))
            self._decks[key] = deck
        card: T = deck.pop()
        return card
