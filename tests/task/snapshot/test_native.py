from __future__ import annotations

import ast
from pathlib import Path

from assay.task.snapshot.native import native_files
from tests.task.snapshot.making import published

FILES = {
    "tiny/a.py": "",
    "tiny/beside.cu": "",
    "tiny/csrc/norm/rms.cuh": '#include "near.cuh"\n#  include <kernel/vec.cuh>\n',
    "tiny/csrc/norm/near.cuh": '#include "../up.h"\n',
    "tiny/csrc/up.h": "",
    "tiny/include/kernel/vec.cuh": "#include <bare.h>\n#include <kernel/vec.cuh>\n",
    "tiny/include/bare.h": "",
    "tiny/other/bare.h": "",
}


def found(tmp_path: Path, source: str) -> set[str]:
    with published(tmp_path, FILES) as wheel:
        return native_files(wheel, {"tiny.a": ast.parse(source)})


def test_a_named_source_brings_all_that_it_includes(tmp_path: Path) -> None:
    assert found(tmp_path, "load(files=['norm/rms.cuh'])") == {
        "tiny/csrc/norm/rms.cuh",
        "tiny/csrc/norm/near.cuh",
        "tiny/csrc/up.h",
        "tiny/include/kernel/vec.cuh",
        "tiny/include/bare.h",
    }


def test_a_bare_name_is_looked_for_beside_the_module_alone(tmp_path: Path) -> None:
    assert found(tmp_path, "x = 'beside.cu'") == {"tiny/beside.cu"}
    assert found(tmp_path, "x = f'{here}/beside.cu'") == {"tiny/beside.cu"}
    assert found(tmp_path, "x = 'up.h'") == set()


def test_an_include_in_a_text_counts_and_one_that_is_not_known_does_not(tmp_path: Path) -> None:
    assert found(tmp_path, "x = '#include <kernel/vec.cuh>\\n int y;'") == {
        "tiny/include/kernel/vec.cuh",
        "tiny/include/bare.h",
    }
    assert found(tmp_path, "x = f'#include \"{path}\"'") == set()
    assert found(tmp_path, "x = f'norm/{kind}.cuh'") >= {"tiny/csrc/norm/rms.cuh"}
    assert found(tmp_path, "x = 'nowhere/else.cuh'") == set()
