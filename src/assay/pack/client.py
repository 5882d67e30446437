"""The ordinary package client: pip, asked for the target's wheels and never for sources."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.pack.target import Target
from assay.pack.wheel import Wheel
from assay.spec.errors import UnavailableError
from assay.spec.errors import UsageError
from assay.spec.errors import quote

# What pip says of a registry that does not answer; the error that follows only says that it
# found no version.
_UNREACHABLE = ("connection broken", "max retries exceeded", "connection error", "timed out")
_ERROR = "ERROR: "
_GENERAL = "ResolutionImpossible"


@dataclass(frozen=True)
class Choice:
    """A wheel that pip took, and what it asks for in turn."""

    name: str
    version: str
    requires: tuple[str, ...]
    path: Path


@dataclass(frozen=True)
class Client:
    target: Target
    wheels: Path | None
    """A folder to take wheels from, instead of the registry that pip is set up for."""
    folder: Path
    """Where the wheels go; what lies there is not fetched a second time."""

    def choose(self, requirements: Sequence[str]) -> list[Choice]:
        """The newest wheels that meet the requirements, without what they ask for themselves.

        Wheels of earlier calls come along, unless pip took another version this time.
        """
        before = self._choices()
        if requirements:
            self._download(requirements)
        fresh = {choice.name for choice in self._choices() if choice not in before}
        for choice in before:
            if choice.name in fresh:
                choice.path.unlink()
        return self._choices()

    def _choices(self) -> list[Choice]:
        return [_choice(path) for path in sorted(self.folder.glob("*.whl"))]

    def _download(self, requirements: Sequence[str]) -> None:
        """By `pip download`: a dry run of `pip install` would cost less and say as much, but
        turns away what asks for a newer Python than this one, whatever the target's."""
        if importlib.util.find_spec("pip") is None:
            raise UnavailableError(
                "this Python has no pip to get wheels with",
                next_step="python -m ensurepip, or run assay from an environment that has it",
            )
        answer = subprocess.run(
            [sys.executable, "-m", "pip", "download", *self._options(), "--", *requirements],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env=self._environment(),
            check=False,
        )
        if answer.returncode != 0:
            raise self._refusal(answer.stderr)

    def _options(self) -> list[str]:
        options = ["--quiet", "--no-input", "--disable-pip-version-check", "--retries=2"]
        options += ["--no-deps", "--only-binary=:all:", "--implementation=cp"]
        options += [f"--dest={self.folder}", f"--python-version={self.target.python}"]
        options += [f"--platform={tag}" for tag in self.target.tags]
        if self.wheels is not None:
            options += ["--no-index", f"--find-links={self.wheels}"]
        return options

    def _environment(self) -> dict[str, str]:
        """The user's own; with a folder of wheels nothing may be added to that folder."""
        if self.wheels is None:
            return dict(os.environ)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        return {**kept, "PIP_CONFIG_FILE": os.devnull}

    def _refusal(self, said: str) -> UnavailableError | UsageError:
        if any(sign in said.lower() for sign in _UNREACHABLE):
            return UnavailableError(
                "the package registry cannot be reached",
                next_step="name a folder of wheels with --wheels",
            )
        return UsageError(
            f"pip finds no wheels for Python {self.target.python} on "
            f"{', '.join(self.target.platforms)}: {quote(_reason(said))}",
            where="" if self.wheels is None else quote(self.wheels),
            next_step="leave a package to the host with --assume, or out with --without, "
            "or fix its version with --with NAME==VERSION",
        )


def _reason(said: str) -> str:
    """The last error that pip names; of a conflict it then only says where to read about them."""
    errors = [line.removeprefix(_ERROR) for line in said.splitlines() if line.startswith(_ERROR)]
    named = [line for line in errors if not line.startswith(_GENERAL)]
    return named[-1] if named else "it does not say why"


def _choice(path: Path) -> Choice:
    with Wheel(path) as wheel:
        return Choice(wheel.name, wheel.version, wheel.requires, path)
