"""attack.toml and twin.toml: what they may say, and that all that are shipped say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.redteam.attack import STRUCTURAL
from assay.redteam.attack import Attack
from assay.redteam.attack import AttackClass
from assay.redteam.attack import Plain
from assay.redteam.attack import Twin
from assay.redteam.find import ROOT
from assay.redteam.find import find_attack
from assay.redteam.find import find_twin
from assay.redteam.find import load_attack
from assay.redteam.find import load_twin
from assay.redteam.find import shipped_attacks
from assay.redteam.find import shipped_twins
from assay.spec.defences import DEFENCE_NAMES
from assay.spec.errors import DocumentError
from assay.spec.errors import UsageError
from assay.spec.status import Status
from assay.task.load import load_solution
from assay.task.load import load_task

ATTACK = """
schema = "assay.attack.1"
title = "Returns what it was given"
exploits = [58]
seen = "here"
devices = ["cpu"]
plain = "beaten"
ends = ["wrong_value"]
stopped_by = "the exam"
defence = "limits"
"""
TWIN = """
schema = "assay.twin.1"
title = "Allocates"
devices = ["cpu"]
looks_like = "aliased_outputs"
ends = ["same", "faster"]
"""
SOLUTION = """
schema = "assay.solution.1"
name = "{name}"
language = "torch"
sources = ["rms_norm.py"]
entry = "rms_norm.py"
"""


def made(folder: Path, file: str, text: str, name: str | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / file).write_text(text)
    (folder / "solution.toml").write_text(SOLUTION.format(name=name or folder.name))
    (folder / "rms_norm.py").write_text("def rms_norm(): ...\n")
    return folder


def test_an_attack_is_read_with_its_class_and_its_language(tmp_path: Path) -> None:
    attack = load_attack(made(tmp_path / "pass_on", "attack.toml", ATTACK), AttackClass.SEMANTIC)
    assert (attack.name, attack.kind, attack.language) == ("pass_on", "semantic", "torch")
    assert attack.file.ends == (Status.WRONG_VALUE,)
    assert attack.file.plain is Plain.BEATEN


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('["wrong_value"]', '["faster"]', "no attack may end as faster"),
        ('["wrong_value"]', "[]", "key ends"),
        ('"limits"', '"luck"', "defence is none of content, kept_calls"),
        ('"beaten"', '"out_of_reach"', "plain_reason goes with out_of_reach"),
        ('plain = "beaten"', 'plain = "beaten"\nplain_reason = "none"', "plain_reason goes with"),
        ('["cpu"]', '["tpu"]', "key devices.0"),
        ("[58]", "[]", "names no exploit of the list"),
        ('title = "Returns what it was given"', "", "key title"),
        ("assay.attack.1", "assay.attack.2", "key schema"),
    ],
)
def test_an_attack_that_says_nonsense_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    assert old in ATTACK
    folder = made(tmp_path / "bad", "attack.toml", ATTACK.replace(old, new))
    with pytest.raises(DocumentError, match=complaint) as raised:
        load_attack(folder, AttackClass.SEMANTIC)
    assert "\n" not in str(raised.value)


def test_only_protocol_attacks_may_name_no_exploit(tmp_path: Path) -> None:
    folder = made(tmp_path / "ours", "attack.toml", ATTACK.replace("[58]", "[]"))
    assert load_attack(folder, AttackClass.PROTOCOL).file.exploits == ()


def test_a_folder_and_its_solution_have_one_name(tmp_path: Path) -> None:
    folder = made(tmp_path / "one", "attack.toml", ATTACK, name="other")
    with pytest.raises(DocumentError, match="the solution is called other, its folder one"):
        load_attack(folder, AttackClass.SEMANTIC)


def test_an_honest_twin_may_not_be_refused(tmp_path: Path) -> None:
    good = made(tmp_path / "good", "twin.toml", TWIN)
    assert load_twin(good).file.ends == (Status.SAME, Status.FASTER)
    bad = made(tmp_path / "bad", "twin.toml", TWIN.replace('"same"', '"violation"'))
    with pytest.raises(DocumentError, match="may not end as violation"):
        load_twin(bad)


def test_two_attacks_of_one_name_are_refused_whatever_their_class(tmp_path: Path) -> None:
    for kind in ("semantic", "filter"):
        made(tmp_path / kind / "twice", "attack.toml", ATTACK)
    with pytest.raises(DocumentError, match="two attacks have this name, in semantic and filter"):
        shipped_attacks(tmp_path)


def test_what_is_not_there_is_said_with_what_is_near() -> None:
    with pytest.raises(UsageError, match=r"no attack is called noop_pass \(did you mean noop_pa"):
        find_attack("noop_pass")
    with pytest.raises(UsageError, match="no twin is called qqq"):
        find_twin("qqq")


def test_every_shipped_attack_and_twin_is_well_formed_and_fits_the_victim() -> None:
    attacks = shipped_attacks()
    assert len({attack.name for attack in attacks}) == len(attacks)
    every: list[Attack | Twin] = [*attacks, *shipped_twins()]
    for one in every:
        for device in one.file.devices:
            if (ROOT / "victim" / device).is_dir():
                load_solution(one.folder, load_task(ROOT / "victim" / device).task)
    assert {attack.file.defence for attack in attacks} <= {*DEFENCE_NAMES, STRUCTURAL}
