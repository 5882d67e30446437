from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.runner import landlock
from assay.runner import syscalls
from assay.runner.sandbox import LANDLOCK
from assay.runner.sandbox import NAMESPACES
from assay.runner.sandbox import READ_ONLY_ROOT
from assay.runner.sandbox import SECCOMP
from tests.runner.sandboxed import require
from tests.runner.sandboxed import said

OPEN = "attempt(lambda: open({path!r}, {mode!r}).close())"


@pytest.fixture
def others() -> Iterator[Path]:
    """A folder of somebody else, which no private /tmp hides."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="assay-test-") as name:
        folder = Path(name)
        (folder / "ledger").write_text("secret")
        yield folder


def test_files_of_others_cannot_be_read(tmp_path: Path, others: Path) -> None:
    require(LANDLOCK)
    code = OPEN.format(path=str(others / "ledger"), mode="r")
    assert said(code, tmp_path) == ["PermissionError 13"]
    assert said(code, tmp_path, without=(LANDLOCK,)) == ["None"]
    assert said(code, tmp_path, readable=[str(others)]) == ["None"]


def test_folders_of_others_cannot_be_listed(tmp_path: Path, others: Path) -> None:
    require(LANDLOCK)
    code = f"attempt(lambda: os.listdir({str(others)!r}))"
    assert said(code, tmp_path) == ["PermissionError 13"]
    assert said(code, tmp_path, without=(LANDLOCK,)) == ["['ledger']"]


@pytest.mark.parametrize("action", ["open({path!r}, 'a').close()", "os.truncate({path!r}, 0)"])
def test_files_of_others_cannot_be_changed(tmp_path: Path, others: Path, action: str) -> None:
    require(LANDLOCK)
    code = "attempt(lambda: " + action.format(path=str(others / "ledger")) + ")"
    assert said(code, tmp_path, without=(READ_ONLY_ROOT,)) == ["PermissionError 13"]
    assert (others / "ledger").read_text() == "secret"
    assert said(code, tmp_path, without=(READ_ONLY_ROOT, LANDLOCK)) == ["None"]


def test_a_program_of_others_cannot_be_run(tmp_path: Path, others: Path) -> None:
    require(LANDLOCK)
    program = others / "program"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    code = f"attempt(lambda: os.posix_spawn({str(program)!r}, ['program'], {{}}) > 0)"
    assert said(code, tmp_path) == ["PermissionError 13"]
    assert said(code, tmp_path, without=(LANDLOCK,)) == ["True"]


def test_no_tcp_even_where_there_is_a_network(tmp_path: Path) -> None:
    require(LANDLOCK)
    if landlock.abi() < 4:
        pytest.skip("this kernel's landlock does not know TCP")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = (
            "import socket\n"
            f"attempt(lambda: socket.create_connection(('127.0.0.1', {port}), 5).close())\n"
            "attempt(lambda: socket.socket().bind(('127.0.0.1', 0)))"
        )
        off = (NAMESPACES, SECCOMP)
        assert said(code, tmp_path, without=off) == ["PermissionError 13"] * 2
        assert said(code, tmp_path, without=(*off, LANDLOCK)) == ["None"] * 2


def test_its_own_folder_and_what_it_needs_are_within_reach(tmp_path: Path) -> None:
    require(LANDLOCK)
    code = (
        "open('mine', 'w').write('x')\n"
        "os.mkdir('inner'); os.rename('mine', 'inner/mine'); os.symlink('inner', 'link')\n"
        "say(open('link/mine').read(), sorted(os.listdir('.')))\n"
        "for path in ('/etc/passwd', '/proc/self/status', '/proc/meminfo'):\n"
        "    say(len(open(path).read()) > 0)\n"
        "open('/dev/null', 'w').write('x'); say(len(open('/dev/urandom', 'rb').read(4)))\n"
        "import json, ctypes.util, subprocess\n"
        "say(subprocess.run(['/bin/sh', '-c', 'exit 3']).returncode)\n"
    )
    assert said(code, tmp_path) == ["x ['inner', 'link']", *["True"] * 3, "4", "3"]


def test_nodes_of_a_gpu_are_for_those_who_judge_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    there = ["/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/dri", "/dev/null"]
    monkeypatch.setattr(
        "glob.glob",
        lambda pattern: (
            [p for p in there if p == pattern or p.startswith(pattern.rstrip("*"))]
            if pattern.startswith("/dev/")
            else []
        ),
    )

    def nodes(device: str) -> set[str]:
        return {path for path, rights in landlock.needs(device) if rights == landlock.DEVICE}

    assert nodes("cpu") == {"/dev/null"}
    assert nodes("cuda") == {"/dev/null", "/dev/nvidia0", "/dev/nvidiactl"}
    assert nodes("rocm") == {"/dev/null", "/dev/kfd", "/dev/dri"}


def test_of_a_folder_on_the_path_only_modules_are_granted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("package", "solutions", "thing-1.0.dist-info", "site-packages"):
        (tmp_path / name).mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "module.py").touch()
    (tmp_path / "ledger.jsonl").touch()
    (tmp_path / "solutions" / "kernel.py").touch()
    packages = str(tmp_path / "site-packages")
    monkeypatch.setattr(sys, "path", [str(tmp_path), "", "/", packages, str(tmp_path / "gone")])
    monkeypatch.setattr(sys, "prefix", "/usr")
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setattr(sys, "meta_path", [])
    assert sorted(landlock._of_python()) == sorted(
        [
            ("/usr", landlock.READ),
            ("/usr", landlock.READ),
            (str(tmp_path), landlock.LIST),
            *(
                (str(tmp_path / name), landlock.READ)
                for name in ("package", "module.py", "thing-1.0.dist-info", "site-packages")
            ),
        ]
    )


@pytest.mark.parametrize(
    ("tool", "granted"),
    [
        ("/opt/gcc-14/bin/g++", ["/opt/gcc-14"]),
        ("/opt/wrappers/g++", ["/opt/wrappers"]),
        ("/home/somebody/bin/g++", ["/home/somebody/bin"]),
        ("/bin/g++", ["/bin"]),
        (None, []),
    ],
)
def test_a_compiler_comes_with_its_toolkit_and_never_with_a_home(
    monkeypatch: pytest.MonkeyPatch, tool: str | None, granted: list[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: tool)
    monkeypatch.setattr(os.path, "realpath", lambda path: path)
    assert list(landlock.toolkit_of("g++")) == granted


@pytest.mark.parametrize("version", [0, 1])
def test_a_kernel_too_old_is_left_alone(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    asked: list[str] = []

    def call(name: str, *_: object) -> int:
        asked.append(name)
        return version or -1

    monkeypatch.setattr(syscalls, "call", call)
    assert landlock.restrict([("/usr", landlock.READ)]) == 0
    assert asked == ["landlock_create_ruleset"]


@pytest.mark.parametrize(
    ("version", "files", "network", "scopes", "size"),
    [(2, 14, 0, 0, 8), (3, 15, 0, 0, 8), (4, 15, 3, 0, 16), (5, 16, 3, 0, 16), (6, 16, 3, 3, 24)],
)
def test_only_rights_that_the_kernel_knows_are_handled(
    monkeypatch: pytest.MonkeyPatch,
    version: int,
    files: int,
    network: int,
    scopes: int,
    size: int,
) -> None:
    handled: list[tuple[int, ...]] = []
    place = os.open("/", os.O_RDONLY)

    def call(name: str, *arguments: object) -> int:
        if name == "landlock_create_ruleset" and arguments[0] is None:
            return version
        if name == "landlock_create_ruleset":
            ruleset = arguments[0]._obj  # type: ignore[attr-defined]
            handled.append((ruleset.files, ruleset.network, ruleset.scopes, int(str(arguments[1]))))
            return place
        return 0

    monkeypatch.setattr(syscalls, "call", call)
    assert landlock.restrict([("/usr", landlock.READ)]) == version
    assert handled == [((1 << files) - 1, network, scopes, size)]
