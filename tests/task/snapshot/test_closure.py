from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from assay.spec.errors import UsageError
from assay.task.snapshot import closure as closures
from assay.task.snapshot.closure import Closure
from assay.task.snapshot.closure import chain
from assay.task.snapshot.closure import close
from assay.task.snapshot.make import snapshot
from tests.task.snapshot.making import CLOSURE
from tests.task.snapshot.making import FILES
from tests.task.snapshot.making import TARGET
from tests.task.snapshot.making import published
from tests.task.snapshot.making import recipe


def closure(tmp_path: Path, files: dict[str, str], roots: Iterable[str], *shims: str) -> Closure:
    with published(tmp_path, files) as wheel:
        return close(wheel, roots, dict.fromkeys(shims, b""))


def modules(tmp_path: Path, files: dict[str, str], *roots: str) -> set[str]:
    return set(closure(tmp_path, files, roots).importers)


def test_packages_on_the_way_drag_in_the_server_unless_a_shim_stops_them(tmp_path: Path) -> None:
    whole = closure(tmp_path, FILES, ["tiny.ops.act"])
    assert set(whole.importers) == {
        *("tiny", "tiny.server", "tiny.models"),
        *("tiny.ops", "tiny.ops.act", "tiny.numerics", "tiny.ops.late"),
    }
    assert chain(whole.importers, "tiny.models") == ["tiny", "tiny.server", "tiny.models"]
    stopped = closure(tmp_path, FILES, ["tiny.ops.act"], "tiny")
    assert set(stopped.importers) - {"tiny"} == {
        *("tiny.ops", "tiny.ops.act", "tiny.numerics", "tiny.ops.late"),
    }


def test_what_a_shim_imports_is_in_the_closure(tmp_path: Path) -> None:
    with published(tmp_path, FILES) as wheel:
        found = close(wheel, ["tiny.ops.act"], {"tiny": b"from tiny.ops import unused\n"})
    assert found.importers["tiny.ops.unused"] == "tiny"


def test_a_lazy_facade_is_followed_for_the_names_that_are_asked_of_it(tmp_path: Path) -> None:
    files = {**FILES, "tiny/__init__.py": "", "tiny/user.py": "from tiny.ops import other\n"}
    assert modules(tmp_path, files, "tiny.user") == {
        *("tiny", "tiny.user", "tiny.ops", "tiny.ops.unused"),
    }


@pytest.mark.parametrize(
    "facade",
    [
        '_T = {"f": "one"}',
        '_T = {"f": ("tiny.one", "f")}',
        '_T = {"f": ".one:f"}',
        '_T = {"one": ["e", "f"]}',
        'f = LazyImport("tiny.one", "f")',
    ],
)
def test_facades_are_written_in_several_ways(tmp_path: Path, facade: str) -> None:
    files = {
        "tiny/__init__.py": facade,
        "tiny/one.py": "",
        "tiny/two.py": "",
        "tiny/user.py": "from tiny import f\n",
    }
    assert modules(tmp_path, files, "tiny.user") == {"tiny", "tiny.user", "tiny.one"}


def test_a_literal_module_name_is_followed_and_an_f_string_means_all_that_fit(
    tmp_path: Path,
) -> None:
    files = {
        "tiny/a.py": "from importlib import import_module\nimport_module(f'tiny.by_{k}')\n",
        "tiny/b.py": "import importlib\nimportlib.import_module('tiny.c')\n",
        "tiny/c.py": "import importlib\nimportlib.import_module(f'{here}.by_one')\n",
        "tiny/by_one.py": "",
        "tiny/by_two.py": "",
    }
    assert modules(tmp_path, files, "tiny.a") == {"tiny.a", "tiny.by_one", "tiny.by_two"}
    assert modules(tmp_path, files, "tiny.b") == {"tiny.b", "tiny.c"}


def test_submodules_namespace_packages_and_dangling_imports(tmp_path: Path) -> None:
    files = {
        "tiny/a.py": "from tiny.bare import inner\nfrom tiny import gone\nimport tiny.never\n",
        "tiny/bare/inner.py": "",
    }
    found = closure(tmp_path, files, ["tiny.a"])
    assert set(found.importers) == {"tiny.a", "tiny.bare.inner"}
    assert found.dangling == ("tiny.a:3: tiny.never",)


def test_imports_of_others_are_needed_only_if_the_entry_cannot_be_imported_without(
    tmp_path: Path,
) -> None:
    files = {
        "tiny/a.py": (
            "import one\nfrom tiny import b\ntry:\n    import two\nexcept ImportError:\n    pass\n"
            "def f():\n    import three\n    from tiny import c\n"
        ),
        "tiny/b.py": "import four.inner\n",
        "tiny/c.py": "import five\n",
    }
    found = closure(tmp_path, files, ["tiny.a"])
    assert {(o.module, o.needed) for o in found.outside} == {
        *(("one", True), ("two", False), ("three", False)),
        *(("four.inner", True), ("five", False)),
    }


def test_machine_code_is_refused_by_name(tmp_path: Path) -> None:
    files = {"tiny/a.py": "from tiny import _core\n", "tiny/_core.cpython-312-x.so": ""}
    with pytest.raises(UsageError, match=r"tiny\._core is machine code, and tiny\.a imports it"):
        closure(tmp_path, files, ["tiny.a"])
    assert set(closure(tmp_path, files, ["tiny.a"], "tiny._core").importers) == {
        "tiny.a",
        "tiny._core",
    }


def test_a_file_that_is_no_python_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"tiny/a\.py: not Python"):
        closure(tmp_path, {"tiny/a.py": "def f(:\n"}, ["tiny.a"])


def test_a_closure_that_gets_into_a_server_ends_early_and_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closures, "LARGEST_SNAPSHOT", 100)
    files = {
        "tiny/a.py": "from tiny.big import server\n",
        "tiny/big/server.py": "import tiny.big.more\n" + "#" * 100,
        "tiny/big/more.py": "this is not even Python",
    }
    with pytest.raises(UsageError, match=r"by way of tiny\.a > tiny\.big\.server \(stop it"):
        closure(tmp_path, files, ["tiny.a"])


def test_the_snapshot_imports_with_nothing_else_of_the_package(
    place: Path, wheels: Path, tmp_path: Path
) -> None:
    draft = snapshot(place, recipe(), target=TARGET, wheels=wheels)
    assert set(draft.files) == CLOSURE
    for module, source in {
        "tiny/__init__.py": "",
        "torch.py": "class nn: functional = None\n",
    }.items():
        path = place / "snapshot" / module
        path.write_text(source)
    ran = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            "import tiny.ops.act, tiny.ops.late; print(tiny.ops.act.one())",
        ],
        cwd=place / "snapshot",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("1.0\n", "")
