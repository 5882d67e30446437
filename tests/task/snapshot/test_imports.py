from __future__ import annotations

import ast

import pytest

from assay.task.snapshot.imports import absolute
from assay.task.snapshot.imports import imports_of


def read(source: str, module: str = "tiny.ops.act", *, is_package: bool = False) -> list[object]:
    """Each import as (module, names, eager, guarded)."""
    found = imports_of(ast.parse(source), module, is_package=is_package)
    return [(i.module, i.names, i.eager, i.guarded) for i in found]


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("import a.b", "a.b"),
        ("from a import b", "a"),
        ("from . import b", "tiny.ops"),
        ("from .late import b", "tiny.ops.late"),
        ("from ..numerics import b", "tiny.numerics"),
        ("import_module('a.b')", "a.b"),
        ("importlib.import_module('.late', __package__)", "tiny.ops.late"),
        ("__import__('a')", "a"),
        ("importlib.import_module(f'a.fallback_{kind}')", "a.fallback_*"),
    ],
)
def test_every_way_to_import_is_read(source: str, module: str) -> None:
    assert [i.module for i in imports_of(ast.parse(source), "tiny.ops.act", is_package=False)] == [
        module
    ]


def test_an_import_of_a_package_is_relative_to_itself() -> None:
    assert read("from . import b", "tiny.ops", is_package=True) == [
        ("tiny.ops", ("b",), True, False)
    ]
    assert absolute("...far", "a.b.c") == "a.far"


def test_what_only_type_checkers_see_is_left_out() -> None:
    source = "if TYPE_CHECKING:\n    import a\nelse:\n    import b\n"
    assert read(source) == [("b", (), True, False)]
    source = "if not typing.TYPE_CHECKING:\n    import a\nelse:\n    import b\n"
    assert read(source) == [("a", (), True, False)]


def test_imports_in_functions_come_later_and_caught_ones_are_guarded() -> None:
    assert read("def f():\n    import a\n") == [("a", (), False, False)]
    assert read("class C:\n    import a\n") == [("a", (), True, False)]
    assert read("x = lambda: __import__('a')\n") == [("a", (), False, False)]
    assert read("try:\n    import a\nexcept ImportError:\n    import b\n") == [
        ("a", (), True, True),
        ("b", (), True, True),
    ]
    assert read("try:\n    import a\nexcept (OSError, ModuleNotFoundError):\n    pass\n") == [
        ("a", (), True, True)
    ]
    assert read("try:\n    import a\nexcept OSError:\n    pass\n") == [("a", (), True, False)]
    assert read("with suppress(ImportError):\n    import a\n") == [("a", (), True, True)]
