"""C++ as text: what is code in it, which bracket closes which, and where functions are defined.

A tolerant reader, not a compiler. What it takes for something else than it is, the compiler and
the exam of the changed source will tell. Its time grows with the length of the text and no more,
whoever wrote the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?P<raw>R"(?P<mark>[^()\\\s"]{0,16})\(.*?(?:\)(?P=mark)"|\Z))
    |(?P<string>"(?:\\.|[^"\\\n])*")
    |(?P<number>\b\d(?:'?[\w.])*)
    |(?P<character>'(?:\\.|[^'\\\n])+')
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*\#(?:\\\r?\n|[^\n])*", re.MULTILINE)
_DEFINE = re.compile(r"[ \t]*\#[ \t]*define\b")
_CALLED = re.compile(
    r"\b([A-Za-z_]\w*)\s*(?:<[^;{}()<>]*(?:<[^;{}()<>]*>[^;{}()<>]*)*>\s*)?\("  # f(, f<a, b<c>>(
)
_AFTER_PARAMETERS = re.compile(
    r"(?:\s|const\b|noexcept\b|override\b|final\b)*(?:->[\w:<>*&\s]{0,200})?\{"
)
_NOT_FUNCTIONS = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignof", "decltype"}
    | {"constexpr", "noexcept", "alignas", "defined", "asm", "__attribute__", "__launch_bounds__"}
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING = {close: opening for opening, close in _CLOSING.items()}
_FARTHEST_ANGLE = 4096
_NESTED = 16
"""Definitions inside of each other, at most, where the whole text is so."""


@dataclass(frozen=True)
class Function:
    name: str
    parameters: str
    body: str


class Code:
    """The text with everything that is no code made blank, at the same places; the bodies of
    macros stay if asked for."""

    def __init__(self, text: str, *, macros: bool) -> None:
        def directive(match: re.Match[str]) -> str:
            keep = macros and _DEFINE.match(match[0])
            return match[0].replace("\\\n", " \n") if keep else _blank(match[0])

        self.text = _DIRECTIVE.sub(directive, _TOKEN.sub(_no_words, text))
        self.pairs: dict[int, int] = {}
        """Places of brackets, each with the place of its other half."""
        self._match_brackets()

    def _match_brackets(self) -> None:
        open_ones: list[int] = []
        for match in re.finditer(r"[()\[\]{}]", self.text):
            character, at = match[0], match.start()
            if character in _CLOSING:
                open_ones.append(at)
            elif open_ones and self.text[open_ones[-1]] == _OPENING[character]:
                other = open_ones.pop()
                self.pairs[other], self.pairs[at] = at, other

    def before(self, end: int) -> int:
        """The place of the last character before `end` that is not blank, or -1."""
        at = end - 1
        while at >= 0 and self.text[at].isspace():
            at -= 1
        return at

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def angle(self, at: int) -> int | None:
        """Where the template arguments that end here begin."""
        depth = 0
        place = at
        while place >= max(0, at - _FARTHEST_ANGLE):
            character = self.text[place]
            if character == ">" and self.text[place - 1] != "-":
                depth += 1
            elif character == "<":
                depth -= 1
                if depth == 0:
                    return place
            elif character in _OPENING:
                place = self.pairs.get(place, 0)
            elif character in ";{":
                return None
            place -= 1
        return None

    def operand(self, end: int) -> int | None:
        """Where the name that ends before `end` begins, with all that belongs to it, as in
        `a::b<c>`, `table[i]` or `this->kernel`."""
        at = self.before(end)
        while at >= 0:
            character = self.text[at]
            if character in ")]":
                start = self.pairs.get(at)
            elif character == ">":
                start = self.angle(at)
            else:
                start = self._word(at)
                if start is not None:
                    joined = self._joined(start)
                    if joined is None:
                        return start
                    at = joined
                    continue
            if start is None:
                return None
            at = self.before(start)
        return None

    def _word(self, at: int) -> int | None:
        start = at + 1
        while start > 0 and (self.text[start - 1].isalnum() or self.text[start - 1] == "_"):
            start -= 1
        return start if start <= at else None

    def _joined(self, start: int) -> int | None:
        """The place before `::`, `.` or `->`, where the word at `start` belongs to another."""
        at = self.before(start)
        two = self.text[max(at - 1, 0) : at + 1]
        width = 2 if two in {"::", "->"} else 1 if two.endswith(".") else 0
        if not width:
            return None
        left = self.before(at + 1 - width)
        joins = left >= 0 and (self.text[left].isalnum() or self.text[left] in "_)]>")
        return left if joins else None

    def calls(self) -> Iterator[re.Match[str]]:
        """Names with a bracket behind, of calls and of definitions."""
        return (m for m in _CALLED.finditer(self.text) if m[1] not in _NOT_FUNCTIONS)

    def functions(self) -> Iterator[Function]:
        """Functions that are defined here, with their bodies."""
        room = _NESTED * len(self.text)
        for match in self.calls():
            end = self.pairs.get(match.end() - 1)
            follows = None if end is None else _AFTER_PARAMETERS.match(self.text, end + 1)
            if end is None or follows is None:
                continue
            last = self.pairs.get(follows.end() - 1)
            room -= 0 if last is None else last - match.start()
            if last is not None and room >= 0:
                body = self.text[follows.end() : last]
                yield Function(match[1], self.text[match.end() : end], body)


def _no_words(match: re.Match[str]) -> str:
    return match[0] if match["number"] is not None else _blank(match[0])


def _blank(text: str) -> str:
    return "".join(c if c == "\n" else " " for c in text)
