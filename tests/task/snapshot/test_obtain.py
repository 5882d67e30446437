from __future__ import annotations

from pathlib import Path

import pytest

from assay.pack.client import Client
from assay.pack.target import Target
from assay.spec.errors import UsageError
from assay.task.snapshot.obtain import obtain
from tests.task.snapshot.making import TARGET
from tests.task.snapshot.making import publish


def test_of_several_builds_the_one_for_the_target_is_taken(tmp_path: Path) -> None:
    for tag in ("cp312-cp312-manylinux_2_17_aarch64", "cp312-cp312-manylinux_2_17_x86_64"):
        publish(tmp_path, tag=tag)
    found = obtain("tiny", "1.0", wheels=tmp_path, target=TARGET, scratch=tmp_path)
    assert found.name == "tiny-1.0-cp312-cp312-manylinux_2_17_x86_64.whl"
    older = Target.of("3.12", ["manylinux_2_5_x86_64"])
    with pytest.raises(UsageError, match="several wheels, and none for manylinux_2_5_x86_64"):
        obtain("tiny", "1.0", wheels=tmp_path, target=older, scratch=tmp_path)


def test_without_a_folder_the_ordinary_client_is_asked_for_that_very_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def choose(client: Client, requirements: list[str]) -> list[object]:
        asked.append([str(client.wheels), *requirements])
        publish(client.folder)
        return []

    monkeypatch.setattr(Client, "choose", choose)
    found = obtain("tiny", "1.0", wheels=None, target=TARGET, scratch=tmp_path)
    assert asked == [["None", "tiny==1.0"]]
    assert found == tmp_path / "tiny-1.0-py3-none-any.whl"


def test_what_the_client_cannot_find_is_one_line_of_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose(*_: object) -> list[object]:
        raise UsageError("pip finds no wheels", next_step="leave it to the host with --assume")

    monkeypatch.setattr(Client, "choose", choose)
    with pytest.raises(UsageError) as caught:
        obtain("tiny", "1.0", wheels=None, target=TARGET, scratch=tmp_path)
    assert str(caught.value) == (
        "pip finds no wheels (put the wheel into a folder and name that with --wheels)"
    )
