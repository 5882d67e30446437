from __future__ import annotations

from pathlib import Path

from assay.pack.client import Client
from assay.pack.target import Target
from tests.pack.making import make_wheel

TARGET = Target.of("3.13", ["manylinux_2_28_x86_64"])


def versions(client: Client, *requirements: str) -> list[tuple[str, str]]:
    return [(choice.name, choice.version) for choice in client.choose(requirements)]


def test_a_choice_that_is_taken_back_leaves_no_wheel_behind(tmp_path: Path) -> None:
    for version in ("1.0", "2.0"):
        make_wheel(tmp_path / "wheels", "tiny", version)
    make_wheel(tmp_path / "wheels", "other_one")
    (tmp_path / "taken").mkdir()
    client = Client(TARGET, tmp_path / "wheels", tmp_path / "taken")
    assert versions(client, "tiny") == [("tiny", "2.0")]
    found = versions(client, "tiny", "tiny<2", "Other.One")
    assert found == [("other-one", "1.0"), ("tiny", "1.0")]
    assert len(list((tmp_path / "taken").iterdir())) == 2


def test_the_targets_python_decides_which_wheels_there_are(tmp_path: Path) -> None:
    # Newer than any Python that these tests run under.
    newest = Target.of("3.99", ["manylinux_2_28_x86_64"])
    make_wheel(tmp_path / "wheels", "tiny", "1.0")
    make_wheel(tmp_path / "wheels", "tiny", "2.0", python=">=3.99")
    for target, version in ((TARGET, "1.0"), (newest, "2.0")):
        folder = tmp_path / version
        folder.mkdir()
        client = Client(target, tmp_path / "wheels", folder)
        assert versions(client, "tiny") == [("tiny", version)]
