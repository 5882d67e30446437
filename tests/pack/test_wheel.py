from __future__ import annotations

from pathlib import Path

import pytest

from assay.pack.wheel import Wheel
from assay.spec.errors import UsageError
from assay.spec.noun import sha256_hex
from tests.pack.making import make_wheel


def test_files_go_where_python_imports_from_and_scripts_stay_but_programs_do_not(
    tmp_path: Path,
) -> None:
    files = {
        "two/__init__.py": "",
        "two-1.data/purelib/two/more.py": "x = 1\n",
        "two-1.data/scripts/two": "#!/bin/sh\n",
        "two-1.data/scripts/two-compiled": "\x7fELF",
        "two-1.data/data/share/two.txt": "",
    }
    with Wheel(make_wheel(tmp_path, "two", "1", files=files)) as wheel:
        entries = {entry.path: entry.read() for entry in wheel.entries("site")}
        runnable = [entry.path for entry in wheel.entries("site") if entry.executable]
    assert runnable == ["site/bin/two-compiled"]
    assert sorted(path for path in entries if "dist-info" not in path) == [
        "site/bin/two-compiled",
        "site/two/__init__.py",
        "site/two/more.py",
    ]
    assert entries["site/two/more.py"] == b"x = 1\n"
    assert "site/two-1.dist-info/METADATA" in entries


def test_a_wheel_is_known_by_name_version_and_hash(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, "two_words", "1.5")
    with Wheel(path) as wheel:
        packed = wheel.packed()
    assert (packed.name, packed.version, packed.file) == ("two-words", "1.5", path.name)
    assert packed.sha256 == sha256_hex(path.read_bytes())
    assert packed.bytes == path.stat().st_size


@pytest.mark.parametrize("name", ["../out.py", "two/../../out.py", "/out.py", "two/a\nb.py"])
def test_a_file_that_leaves_the_pack_is_refused(tmp_path: Path, name: str) -> None:
    path = make_wheel(tmp_path, "two", files={name: ""})
    with Wheel(path) as wheel, pytest.raises(UsageError, match="a plain path inside the pack"):
        list(wheel.entries("site"))


def test_a_damaged_wheel_is_named(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, "two", files={"two.py": "x = 1\n" * 100})
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    with Wheel(path) as wheel, pytest.raises(UsageError, match=r"two-1\.0.*: a damaged wheel"):
        [entry.read() for entry in wheel.entries("site")]
    path.write_bytes(b"nothing")
    with pytest.raises(UsageError, match=r"two-1\.0.*: a damaged wheel"):
        Wheel(path)


def test_requirements_come_from_its_metadata(tmp_path: Path) -> None:
    with Wheel(make_wheel(tmp_path, "two", requires=("a>=1", 'b; extra == "c"'))) as wheel:
        assert wheel.requires == ("a>=1", 'b; extra == "c"')
    with Wheel(make_wheel(tmp_path, "two")) as wheel:
        assert wheel.requires == ()


def test_folders_of_a_path_file_are_import_folders_and_its_code_is_not_run(tmp_path: Path) -> None:
    files = {
        "two.pth": "# a remark\nimport os; os.abort()\ntwo/inner/\n\n",
        "two/inner/three.py": "",
        "two/four.pth": "five\n",
    }
    with Wheel(make_wheel(tmp_path, "two", files=files)) as wheel:
        assert list(wheel.import_folders("extra")) == ["extra/two/inner"]
    path = make_wheel(tmp_path, "two", files={"two.pth": "../elsewhere\n"})
    with Wheel(path) as wheel, pytest.raises(UsageError, match="a plain path inside the pack"):
        list(wheel.import_folders("extra"))
