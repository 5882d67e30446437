"""Classic BPF as seccomp runs it: instructions, and blocks of them that read like rules.

A filter sees the number of a call, the architecture it was made for and six arguments, each as
two words. It cannot follow a pointer.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import NamedTuple

_LOAD = 0x20  # a word of what the filter sees, into the accumulator
_IF_EQUAL = 0x15
_IF_AT_LEAST = 0x35
_IF_ANY_BIT = 0x45
_RETURN = 0x06

_NUMBER = 0
_ARCHITECTURE = 4
_ARGUMENTS = 16


class Instruction(NamedTuple):
    code: int
    if_true: int
    if_false: int
    """How many instructions are passed over, for those that compare."""
    value: int


class Condition(NamedTuple):
    """What has to be true of one argument; without `whole` only of its lower 32 bits."""

    argument: int
    code: int
    value: int
    expected: bool = True
    whole: bool = False


def equals(argument: int, value: int) -> Condition:
    return Condition(argument, _IF_EQUAL, value)


def differs(argument: int, value: int) -> Condition:
    return Condition(argument, _IF_EQUAL, value, expected=False)


def has_any(argument: int, bits: int) -> Condition:
    return Condition(argument, _IF_ANY_BIT, bits)


def is_not_null(argument: int) -> Condition:
    return Condition(argument, _IF_EQUAL, 0, expected=False, whole=True)


def end(action: int) -> list[Instruction]:
    return [Instruction(_RETURN, 0, 0, action)]


def only_architecture(code: int, otherwise: int) -> list[Instruction]:
    """Calls made for any other end so; from here on the accumulator holds the call's number."""
    return [
        Instruction(_LOAD, 0, 0, _ARCHITECTURE),
        Instruction(_IF_EQUAL, 1, 0, code),
        *end(otherwise),
        Instruction(_LOAD, 0, 0, _NUMBER),
    ]


def for_numbers(first: int, beyond: int | None, action: int) -> list[Instruction]:
    """The action for calls from a number on, up to but not including another."""
    if beyond is None:
        return [Instruction(_IF_AT_LEAST, 0, 1, first), *end(action)]
    return [
        Instruction(_IF_AT_LEAST, 0, 2, first),
        Instruction(_IF_AT_LEAST, 1, 0, beyond),
        *end(action),
    ]


def for_call(number: int, action: int, condition: Condition | None = None) -> list[Instruction]:
    """The action for one call, where its argument is so; all else goes on to what follows."""
    if condition is None:
        return [Instruction(_IF_EQUAL, 0, 1, number), *end(action)]
    low = _ARGUMENTS + 8 * condition.argument
    tail = [*end(action), Instruction(_LOAD, 0, 0, _NUMBER)]
    meets, fails = (0, 1) if condition.expected else (1, 0)
    body = [
        Instruction(_LOAD, 0, 0, low),
        Instruction(condition.code, meets, fails, condition.value),
    ]
    if condition.whole:  # differs in the lower word, or else in the upper one
        body[1] = Instruction(condition.code, 0, 2, condition.value)
        body += [
            Instruction(_LOAD, 0, 0, low + 4),
            Instruction(condition.code, meets, fails, condition.value),
        ]
    body += tail
    return [Instruction(_IF_EQUAL, 0, len(body), number), *body]


class Program(ctypes.Structure):
    """`sock_fprog`, with the instructions that it points to."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]

    @classmethod
    def of(cls, instructions: Sequence[Instruction]) -> Program:
        packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
        return cls(len(instructions), packed)
