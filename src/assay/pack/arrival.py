"""Says in one line why this host cannot run a pack; the launcher asks before anything else.

It runs as a script, under whatever Python the host has. So it imports nothing of ours, and all but
what comes after the first check is written in what Python 3.6 still reads.
"""

import json
import os
import platform
import re
import sys
from typing import Any

_LEAST = (3, 11)
_UNAVAILABLE = 69


def complaint(manifest: Any) -> str:
    """The first thing that is wrong and what to do about it; empty if nothing is."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    wanted = manifest["python"]
    if here != wanted:
        again = f", or pack again with --python {here}" if sys.version_info >= _LEAST else ""
        return (
            f"this pack is for Python {wanted}, and this is {here} "
            f"(set PYTHON to a python{wanted} that has torch{again})"
        )
    platforms = ", ".join(manifest["platforms"])
    if not platforms.endswith(platform.machine()):
        return (
            f"this pack is for {platforms}, and this is {platform.machine()} "
            "(pack again with --platform)"
        )
    needed = [package for package in manifest["assumed"] if package["needed"]]
    problems = (_host_problem(package["name"], package["least"]) for package in needed)
    return next(filter(None, problems), "")


def _host_problem(name: str, least: Any) -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version
    from importlib.util import find_spec

    wanted = name if least is None else f"{name} {least} or newer"
    advice = f"set PYTHON to a python that has {wanted}"
    try:
        found = version(name)
    except PackageNotFoundError:
        # A build from source may have no metadata and still be there.
        if find_spec(name.replace("-", "_")) is not None:
            return ""
        return f"the host's own {name} is needed, and {sys.executable} has none ({advice})"
    if least is None or _numbers(found) >= _numbers(least):
        return ""
    return f"the host's own {name} is {found}, and {least} or newer is needed ({advice})"


def _numbers(version: str) -> Any:
    """The release, without what marks a build or a candidate: [2, 9] of 2.9.0a0+cu130."""
    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", version)[0])]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def main() -> int:
    with open(os.path.join(sys.argv[1], "manifest.json"), encoding="utf-8") as file:
        problem = complaint(json.load(file))
    if problem:
        print(f"assay: {problem}", file=sys.stderr)
    return _UNAVAILABLE if problem else 0


if __name__ == "__main__":
    sys.exit(main())
