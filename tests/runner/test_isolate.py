from __future__ import annotations

import subprocess
import sys

from assay.runner.sandbox import NAMESPACES
from tests.runner.sandboxed import BEGINNING
from tests.runner.sandboxed import require

UNMOUNT = """
from assay.runner import isolate, mounts
isolate.enter_namespaces()
mounts.arrange(1)
if sys.argv[1] == "drop":
    isolate.drop_capabilities()
say(libc.umount2(b"/tmp", 2), ctypes.get_errno())
"""


def unmounted(what: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", BEGINNING + UNMOUNT, what],
        capture_output=True,
        text=True,
        check=True,
    ).stderr


def test_without_capabilities_mounts_cannot_be_unmade() -> None:
    require(NAMESPACES)
    assert unmounted("drop") == "-1 1\n"
    # Else a private /tmp would come off and show everybody's.
    assert unmounted("keep") == "0 0\n"


def test_capabilities_do_not_come_back_with_a_new_program() -> None:
    require(NAMESPACES)
    code = (
        "from assay.runner import isolate\n"
        "isolate.enter_namespaces(); isolate.no_new_privileges(); isolate.drop_capabilities()\n"
        "os.execvp('cat', ['cat', '/proc/self/status'])\n"
    )
    status = subprocess.run(
        [sys.executable, "-c", BEGINNING + code], capture_output=True, text=True, check=True
    ).stdout
    held = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Cap"))
    assert held == dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), "0" * 16)
