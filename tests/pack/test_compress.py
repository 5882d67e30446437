"""Large wheels: compressed in the pack, and unpacked on arrival, once."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from assay.pack.make import Packed
from assay.pack.manifest import EXTRA
from assay.pack.unpack import UnpackError
from assay.pack.unpack import unpack_all
from assay.pack.verify import verify
from assay.runner import landlock
from assay.spec.errors import UsageError
from assay.spec.noun import sha256_hex
from tests.pack.making import arrive
from tests.pack.making import contents
from tests.pack.making import make_pack
from tests.pack.making import make_wheel

ARCHIVE = "compressed/bulky-3.0.tar.xz"
MARK = "compressed/bulky-3.0.unpacked"
SITE = "extra/site-packages"
FILES = {
    "bulky.pth": "bulky_files/python\n",
    "bulky_files/python/bulky.py": "WHERE = __file__\n",
    "bulky_files/lib/data.txt": "0123456789abcdef\n" * 4000,
    "bulky-3.0.data/scripts/bulky-tool": "\x7fELF",
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    make_wheel(folder, "tiny")
    proprietary = "Classifier: License :: Other/Proprietary License"
    make_wheel(folder, "bulky", "3.0", files=FILES, licence=proprietary)
    return folder


def pack_bulky(folder: Path, wheels: Path, **options: Any) -> Packed:
    return make_pack(folder, wheels, more=["tiny", "bulky"], compress_from=1 << 15, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> tuple[Path, Packed]:
    folder = tmp_path_factory.mktemp("made") / "p"
    return folder, pack_bulky(folder, wheels)


@pytest.fixture
def packed(made: tuple[Path, Packed], tmp_path: Path) -> Path:
    """A copy of the pack, as it would travel."""
    return Path(shutil.copytree(made[0], tmp_path / "p"))


def manifest_of(pack: Path) -> Any:
    return json.loads((pack / "manifest.json").read_text())


def test_only_a_large_wheel_is_compressed_and_its_size_is_that_of_the_archive(
    made: tuple[Path, Packed],
) -> None:
    folder, packed = made
    (archive,) = packed.manifest.compressed
    found = contents(folder)
    assert (archive.wheel, archive.path) == ("bulky", ARCHIVE)
    assert f"{SITE}/tiny.py" in found
    assert f"{SITE}/bulky_files/lib/data.txt" not in found
    parts = {part.name: part.bytes for part in packed.manifest.parts}
    assert parts["bulky 3.0"] == len(found[ARCHIVE]) < 4000
    assert archive.unpacked_bytes == sum(file.bytes for file in archive.files) > 64000
    assert packed.bytes == sum(map(len, found.values()))
    assert packed.manifest.bytes == sum(parts.values())


def test_an_archive_holds_no_time_and_no_owner_and_is_the_same_each_time(
    made: tuple[Path, Packed], tmp_path: Path, wheels: Path
) -> None:
    pack_bulky(tmp_path / "q", wheels)
    assert (made[0] / ARCHIVE).read_bytes() == (tmp_path / "q" / ARCHIVE).read_bytes()
    with tarfile.open(made[0] / ARCHIVE) as archive:
        members = archive.getmembers()
    assert [m.name for m in members] == sorted(m.name for m in members)
    assert {(m.mtime, m.uid, m.uname) for m in members} == {(0, 0, "")}


def test_it_is_unpacked_on_the_first_start_and_imported_from_then_on(
    packed: Path, tmp_path: Path
) -> None:
    assert verify(packed).problems == ()
    before = verify(packed).files
    ran = arrive(packed, "task", "list", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (packed / SITE / "bulky_files/lib/data.txt").stat().st_size == 17 * 4000
    assert not list((packed / "compressed").glob("*.partial"))
    report = verify(packed)
    assert report.problems == ()
    # Its three files, the path file and three of metadata are looked at too.
    assert report.files == before + 7
    unpacked = (packed / SITE / "bulky_files/lib/data.txt").stat()
    assert arrive(packed, "task", "list", cwd=tmp_path).returncode == 0
    again = (packed / SITE / "bulky_files/lib/data.txt").stat()
    assert (again.st_ino, again.st_mtime_ns) == (unpacked.st_ino, unpacked.st_mtime_ns)


def test_path_files_count_and_programs_can_be_run(packed: Path) -> None:
    shown = run_unpack(packed)
    assert shown.stdout == (f"{packed}/site:{packed}/{SITE}:{packed}/{SITE}/bulky_files/python\n")
    code = "import bulky; print(bulky.WHERE)"
    environment = {"PATH": os.defpath, "PYTHONPATH": shown.stdout.strip()}
    ran = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert ran.stdout == f"{packed}/{SITE}/bulky_files/python/bulky.py\n"
    launcher = (packed / "run").read_text()
    assert f"PATH=$PATH:$here/{SITE}/bin\n" in launcher
    assert os.access(packed / SITE / "bin/bulky-tool", os.X_OK)
    # A runner's sandbox lets it read and run what lies below a folder of this name.
    assert Path(EXTRA).name in landlock._PACKAGES
    assert EXTRA == SITE


def test_two_starters_unpack_it_once(packed: Path) -> None:
    starters = [start_unpack(packed) for _ in range(4)]
    ended = [(starter.communicate()[1], starter.returncode) for starter in starters]
    assert ended == [("", 0)] * 4
    assert verify(packed).problems == ()
    assert not list((packed / "compressed").glob("*.partial"))


def test_who_comes_second_waits_and_does_not_unpack_again(packed: Path) -> None:
    sha256 = sha256_hex((packed / ARCHIVE).read_bytes())
    with (packed / ARCHIVE).open("rb") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        second = start_unpack(packed)
        for _ in range(1000):
            if second.poll() is not None or waits(second.pid):
                break
            time.sleep(0.02)
        assert second.poll() is None
        # The first is done; that it unpacked nothing here shows that the second did not either.
        (packed / MARK).write_text(sha256 + "\n")
    assert second.communicate()[1] == ""
    assert second.returncode == 0
    assert not (packed / SITE / "bulky_files").exists()


def waits(pid: int) -> bool:
    """Whether the process stands in line for a lock, as the kernel lists them."""
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any(words[1:3] == ["->", "FLOCK"] and words[5] == str(pid) for words in lines)


def test_what_a_starter_left_halfway_is_done_again(packed: Path) -> None:
    partial = packed / f"{ARCHIVE}.partial" / SITE
    partial.mkdir(parents=True)
    (partial / "rest").write_text("")
    (packed / SITE / "bulky_files/lib").mkdir(parents=True)
    (packed / SITE / "bulky_files/lib/data.txt").write_text("half")
    assert run_unpack(packed).returncode == 0
    assert verify(packed).problems == ()


def test_a_newer_archive_is_unpacked_over_an_older_one(packed: Path) -> None:
    (packed / MARK).write_text("0" * 64 + "\n")
    unpack_all(packed, manifest_of(packed))
    assert (packed / SITE / "bulky_files/lib/data.txt").is_file()


def test_a_changed_archive_is_refused_and_nothing_is_unpacked(packed: Path) -> None:
    data = bytearray((packed / ARCHIVE).read_bytes())
    data[len(data) // 2] ^= 1
    (packed / ARCHIVE).write_bytes(data)
    before = contents(packed)
    ran = run_unpack(packed)
    assert (ran.returncode, ran.stdout) == (69, "")
    assert ran.stderr == f"assay: {ARCHIVE} is not what was packed (copy the pack again)\n"
    assert contents(packed) == before


def test_every_file_is_checked_by_hash_before_any_goes_to_its_place(packed: Path) -> None:
    manifest = manifest_of(packed)
    manifest["compressed"][0]["files"][-1]["sha256"] = "0" * 64
    before = contents(packed)
    with pytest.raises(UnpackError, match="is not what was packed"):
        unpack_all(packed, manifest)
    assert contents(packed) == before


def test_a_member_that_the_manifest_does_not_name_is_refused(packed: Path) -> None:
    manifest = manifest_of(packed)
    dropped = manifest["compressed"][0]["files"].pop()
    with pytest.raises(UnpackError, match="holds what the manifest does not name"):
        unpack_all(packed, manifest)
    more = {**dropped, "path": f"{SITE}/zzz"}
    manifest["compressed"][0]["files"] += [dropped, more]
    with pytest.raises(UnpackError, match=f"{ARCHIVE} lacks {SITE}/zzz"):
        unpack_all(packed, manifest)


def test_a_pack_that_cannot_be_written_is_one_line(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(UnpackError) as refused:
        unpack_all(packed, manifest_of(packed))
    assert str(refused.value) == (
        "cannot unpack bulky into the pack: Read-only file system "
        "(copy the pack to where you may write)"
    )


def test_verify_looks_at_what_was_unpacked(packed: Path) -> None:
    run_unpack(packed)
    (packed / SITE / "bulky_files/lib/data.txt").write_text("other")
    (packed / SITE / "bulky_files/python/bulky.py").unlink()
    problems = verify(packed).problems
    assert len(problems) == 2
    assert problems[0].startswith(f"{SITE}/bulky_files/lib/data.txt: 5 bytes, and ")
    assert problems[1].startswith(f"{SITE}/bulky_files/python/bulky.py: No such file")


def test_an_unpacked_pack_can_be_made_again(packed: Path, wheels: Path) -> None:
    run_unpack(packed)
    pack_bulky(packed, wheels)
    assert not (packed / MARK).exists()


def test_a_limit_holds_for_what_travels(
    made: tuple[Path, Packed], tmp_path: Path, wheels: Path
) -> None:
    # Less than the wheel takes once it is unpacked.
    limit = made[1].bytes + (48 << 10)
    pack_bulky(tmp_path / "q", wheels, most_bytes=limit)
    with pytest.raises(UsageError, match="over the limit"):
        make_pack(tmp_path / "r", wheels, more=["tiny", "bulky"], most_bytes=limit)
    assert [path.name for path in tmp_path.iterdir()] == ["q"]


def test_a_compressed_wheel_may_not_bring_another_ones_file(tmp_path: Path) -> None:
    files = {"tiny.py": "VERSION = 'mine'\n", "data.txt": "0123456789abcdef\n" * 4000}
    make_wheel(tmp_path / "wheels", "tiny")
    make_wheel(tmp_path / "wheels", "bulky", "3.0", files=files)
    with pytest.raises(UsageError, match=r"both bring extra/site-packages/tiny\.py, and differ"):
        pack_bulky(tmp_path / "p", tmp_path / "wheels")


def test_a_wheel_that_may_not_be_passed_on_is_said_so(made: tuple[Path, Packed]) -> None:
    folder, packed = made
    assert [(w.name, w.restricted) for w in packed.manifest.restricted] == [
        ("bulky", "Other/Proprietary License")
    ]
    notice = (folder / "NOTICE").read_text().splitlines()
    assert notice[0] == "This pack is for hosts of your own, and not for redistribution."
    assert notice[-1] == "  bulky 3.0: Other/Proprietary License"


def start_unpack(pack: Path) -> subprocess.Popen[str]:
    script = pack / "site/assay/pack/unpack.py"
    return subprocess.Popen(
        [sys.executable, "-P", str(script), str(pack)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": os.defpath},
    )


def run_unpack(pack: Path) -> subprocess.CompletedProcess[str]:
    process = start_unpack(pack)
    output, error = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, output, error)
