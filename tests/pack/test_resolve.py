from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from assay.pack.client import Choice
from assay.pack.client import Client
from assay.pack.resolve import names_of
from assay.pack.resolve import resolve
from assay.pack.target import Target
from assay.spec.errors import UsageError

TARGET = Target.of("3.13", ["manylinux_2_28_aarch64"])


@dataclass(frozen=True)
class Shelf(Client):
    """A client that takes the newest of what lies on it, and remembers what it was asked for."""

    stock: dict[str, list[Choice]] = field(default_factory=dict)
    asked: list[list[str]] = field(default_factory=list)

    def choose(self, requirements: Sequence[str]) -> list[Choice]:
        self.asked.append(list(requirements))
        needs = [Requirement(text) for text in requirements]
        return [self._newest(name, needs) for name in sorted({need.name for need in needs})]

    def _newest(self, name: str, needs: list[Requirement]) -> Choice:
        return next(
            choice
            for choice in self.stock[name]
            if all(need.specifier.contains(choice.version) for need in needs if need.name == name)
        )


def a_choice(name: str, version: str = "1", *requires: str) -> Choice:
    return Choice(name, version, requires, Path(name))


def shelf(**stock: list[Choice]) -> Shelf:
    return Shelf(TARGET, None, Path("unused"), stock)


def names(choices: Sequence[Choice]) -> list[str]:
    return [f"{choice.name} {choice.version}" for choice in choices]


def test_what_the_host_has_is_never_asked_for() -> None:
    client = shelf(
        a=[a_choice("a", "1.0", "b", "torch>=2.4")],
        b=[a_choice("b", "1.0", "torch>=2.9,<3", "numpy")],
    )
    found = resolve(["a", "torch"], client, assumed=frozenset({"torch", "numpy", "triton"}))
    assert names(found.choices) == ["a 1.0", "b 1.0"]
    assert client.asked == [["a"], ["a", "b"]]
    # Nobody asks for triton, so a host without it is as good; the highest lower bound counts.
    assert [(p.name, p.needed, p.least) for p in found.host] == [
        ("numpy", True, None),
        ("torch", True, "2.9"),
        ("triton", False, None),
    ]


def test_what_is_left_out_is_neither_carried_nor_asked_of_the_host() -> None:
    client = shelf(a=[a_choice("a", "1.0", "b")])
    found = resolve(["a"], client, assumed=frozenset(), without=frozenset({"b"}))
    assert (names(found.choices), found.host) == (["a 1.0"], ())


def test_markers_are_read_for_the_target_and_not_for_this_python() -> None:
    needs = (
        'old; python_version < "3.13"',
        'new; python_version >= "3.13"',
        'arm; platform_machine == "aarch64"',
        'win; sys_platform == "win32"',
        'plus; extra == "more"',
    )
    stock = {name: [a_choice(name, "1")] for name in ("new", "arm", "plus")}
    client = shelf(a=[a_choice("a", "1", *needs)], **stock)
    assert names(resolve(["a"], client, assumed=frozenset()).choices) == ["a 1", "arm 1", "new 1"]
    with_extra = resolve(["a[more]"], client, assumed=frozenset()).choices
    assert names(with_extra) == ["a 1", "arm 1", "new 1", "plus 1"]


def test_a_later_requirement_can_hold_an_earlier_choice_back() -> None:
    client = shelf(
        a=[a_choice("a", "2", "c"), a_choice("a", "1")],
        b=[a_choice("b", "1", "a<2")],
        c=[a_choice("c", "1")],
    )
    # a 2 is gone in the end, and with it the c that only it asked for.
    assert names(resolve(["a", "b"], client, assumed=frozenset()).choices) == ["a 1", "b 1"]


def test_versions_that_go_round_in_a_circle_are_an_error() -> None:
    client = shelf(
        a=[a_choice("a", "2", "b"), a_choice("a", "1")],
        b=[a_choice("b", "1", "a<2")],
    )
    with pytest.raises(UsageError, match="in a circle"):
        resolve(["a"], client, assumed=frozenset())


@pytest.mark.parametrize("text", ["", "a b", "--index-url=x", "a @ https://example.org/a.whl"])
def test_what_is_no_requirement_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"is no requirement|names an address"):
        names_of([text])


def test_names_have_one_spelling() -> None:
    assert names_of(["Pydantic_Core>=2", "pydantic.core"]) == {"pydantic-core"}
