"""Finds the attacks and twins that are shipped, each file read once and checked."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import assay
from assay.redteam.attack import Attack
from assay.redteam.attack import AttackClass
from assay.redteam.attack import AttackFile
from assay.redteam.attack import Twin
from assay.redteam.attack import TwinFile
from assay.spec.documents import read_document_bytes
from assay.spec.errors import DocumentError
from assay.spec.errors import UsageError
from assay.spec.errors import quote
from assay.task.files import read_inside
from assay.task.load import SOLUTION_FILE
from assay.task.load import load_solution

ROOT = Path(assay.__file__).parent / "redteam"
ATTACK_FILE = "attack.toml"
TWIN_FILE = "twin.toml"
_MOST_NAMES = 12

T = TypeVar("T", Attack, Twin)


def shipped_attacks(root: Path = ROOT / "attacks") -> tuple[Attack, ...]:
    """All attacks, by class and name."""
    found = [
        load_attack(folder, kind) for kind in AttackClass for folder in _folders(root / kind.value)
    ]
    _refuse_doubles(found)
    return tuple(found)


def shipped_twins(root: Path = ROOT / "honest") -> tuple[Twin, ...]:
    """All honest twins, by name."""
    return tuple(load_twin(folder) for folder in _folders(root))


def load_attack(folder: Path, kind: AttackClass) -> Attack:
    """The attack in a folder; DocumentError or UsageError says what is wrong with it."""
    path = folder / ATTACK_FILE
    file = read_document_bytes(read_inside(folder, ATTACK_FILE), path, AttackFile)
    if kind is not AttackClass.PROTOCOL and not file.exploits:
        raise DocumentError(
            f"an attack of class {kind} names no exploit of the list",
            where=f"{quote(path)}: key exploits",
            next_step="those on our own protocol are of class protocol",
        )
    solution = load_solution(folder).solution
    _check_name(solution.name, folder)
    return Attack(kind, folder, file, solution.language)


def load_twin(folder: Path) -> Twin:
    """The twin in a folder; DocumentError or UsageError says what is wrong with it."""
    path = folder / TWIN_FILE
    file = read_document_bytes(read_inside(folder, TWIN_FILE), path, TwinFile)
    solution = load_solution(folder).solution
    _check_name(solution.name, folder)
    return Twin(folder, file, solution.language)


def find_attack(name: str) -> Attack:
    return named(name, shipped_attacks(), "attack")


def find_twin(name: str) -> Twin:
    return named(name, shipped_twins(), "twin")


def named(name: str, known: Iterable[T], what: str, where: str = "") -> T:
    """The one of that name; UsageError with the nearest names where there is none."""
    by_name: dict[str, T] = {one.name: one for one in known}
    if name in by_name:
        return by_name[name]
    close = difflib.get_close_matches(name, by_name, n=3, cutoff=0.5)
    shown = close or list(by_name)[:_MOST_NAMES]
    raise UsageError(
        f"no {what} is called {quote(name)}",
        where=where,
        next_step=f"{'did you mean' if close else 'there are'} {', '.join(shown)}",
    )


def _folders(root: Path) -> list[Path]:
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if (path / SOLUTION_FILE).is_file())


def _check_name(name: str, folder: Path) -> None:
    if name != folder.name:
        raise DocumentError(
            f"the solution is called {quote(name)}, its folder {quote(folder.name)}",
            where=f"{quote(folder / SOLUTION_FILE)}: key name",
        )


def _refuse_doubles(attacks: Iterable[Attack]) -> None:
    seen: dict[str, Attack] = {}
    for attack in attacks:
        other = seen.setdefault(attack.name, attack)
        if other is not attack:
            raise DocumentError(
                f"two attacks have this name, in {other.kind} and {attack.kind}",
                where=quote(attack.name),
            )
