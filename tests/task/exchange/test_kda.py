"""KDA-Pilot task folders, both ways."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.spec.baseline import ReferenceBaseline
from assay.spec.errors import UsageError
from assay.spec.workload import Row
from assay.task import load_task
from assay.task.address import SHIPPED
from assay.task.address import names_under
from assay.task.exchange import kda_rows
from assay.task.exchange.importing import import_from
from assay.task.exchange.kda_export import export_kda
from tests.task.exchange import folders
from tests.task.exchange.examining import examined


@pytest.mark.parametrize("address", sorted(names_under(SHIPPED)))
def test_out_and_in_again_gives_the_same_rows_functions_and_domain(
    address: str, tmp_path: Path
) -> None:
    task = load_task(address)
    name = next(iter(task.solution_names), None)
    exported = export_kda(task, tmp_path / "out", name)
    assert exported.rows == len(task.workloads.rows)
    made = import_from(tmp_path / "out", tmp_path / "back")
    assert made.form == "kda"
    assert made.task.workloads.rows == task.workloads.rows
    assert made.task.task.functions == task.task.functions
    assert made.task.task.domain == task.task.domain
    assert made.task.task.primary_baseline == task.task.primary_baseline
    assert made.task.reference == task.reference
    # The sources came through unchanged; nothing of a wheel's own is copied.
    place = task.task.primary_baseline.path  # type: ignore[union-attr]
    pairs = [(task.path / place, tmp_path / "back" / place)]
    if name is not None:
        pairs.append((task.path / "solutions" / name, tmp_path / "back/solutions/candidate"))
    for there, here in pairs:
        for path in there.iterdir():
            if path.is_file():
                assert (here / path.name).read_bytes() == path.read_bytes()
    assert not list((tmp_path / "out").rglob("snapshot"))


def test_an_exported_folder_has_what_theirs_have(tmp_path: Path) -> None:
    exported = export_kda(load_task("cpu/rms_norm"), tmp_path / "out", "win")
    files = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*")}
    assert {"prompt.md", "config.toml", "baseline", "solution", "bench/workloads.json"} <= files
    config = tomllib.loads((tmp_path / "out/config.toml").read_text())
    assert config["task"]["slug"] == "cpu_rms_norm"
    assert config["build"]["baseline_entry_point"] == "baseline/rms_norm.cpp::rms_norm"
    row = json.loads((tmp_path / "out/bench/workloads.json").read_text())[0]
    assert row["id"] == "m1320_d128_f32"
    assert row["production"] is True
    assert row["shapes"]["x"] == {"shape": [1320, 128], "dtype": "float32"}
    assert row["eps"] == 1e-6
    assert "solution tie" in exported.left_out
    assert "atol and rtol: limits here follow the baseline's own error" in exported.left_out


def test_a_row_comes_through_with_all_that_it_can_hold() -> None:
    row = Row.model_validate_json(
        json.dumps(
            {
                "id": "r",
                "function": "f",
                "tensors": {
                    "x": {"shape": [4, 6], "dtype": "bfloat16", "strides": [12, 1], "offset": 2},
                    "w": None,
                },
                "options": {"eps": 1e-6, "neox": True, "mode": "tanh", "groups": 2},
                "models": ["qwen"],
                "seen_on": ["h200"],
                "calls": 7,
                "headline": False,
                "note": "as captured",
            }
        )
    )
    back = kda_rows.read(json.loads(json.dumps(kda_rows.written(row, exact=False))), 0)
    assert Row.model_validate_json(json.dumps(back)) == row


def test_a_folder_of_theirs_is_read_in_all_three_dialects(tmp_path: Path) -> None:
    made = import_from(folders.write_folder(tmp_path / "kda"), tmp_path / "task")
    task = made.task.task
    assert task.name == "kda/cpu_scaled_add__multi_shape"
    assert made.remarks == ("gate_mode is no parameter of scaled_add, and left out",)
    first, second, third = made.task.workloads.rows
    assert first.id == "t_s6"
    assert first.models == ("qwen",)
    assert second.headline is False
    assert second.tensors["x"].shape == (1, 3, 8)  # type: ignore[union-attr]
    assert third.tensors["x"].shape == (1, 5, 8)  # type: ignore[union-attr]
    assert third.tensors["gate"] is None
    assert third.models == ("wan", "flux")
    (function,) = task.functions
    assert [(a.name, a.shape, a.optional) for a in function.arguments] == [
        ("x", (1, "n0", 8), False),
        ("gate", (1, 1, 8), True),
        ("out", (1, "n0", 8), False),
    ]
    assert task.domain.axes["n0"].choices == (3, 5, 6)
    assert [(o.name, o.choices) for o in function.options] == [("eps", (0.5,))]
    for name in ("baseline", "candidate"):
        assert examined(tmp_path / "task", name) is None


def _with_stride_tag(rows: list[dict[str, Any]]) -> None:
    rows[0]["shapes"]["gate"]["layout"] = "chunk2"


def _without_output(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        del row["shapes"]["out"]


def _other_rank(rows: list[dict[str, Any]]) -> None:
    rows[0]["shapes"]["gate"]["shape"] = [1, 8]


def _no_axis(rows: list[dict[str, Any]]) -> None:
    del rows[2]["shapes"]["S"]


def _no_id(rows: list[dict[str, Any]]) -> None:
    del rows[1]["id"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (
            _with_stride_tag,
            "row t s6: gate has the layout chunk2, which its own program alone knows",
        ),
        (_without_output, "no tensor of scaled_add is called out: nobody has said what it writes"),
        (_other_rank, "gate has another number of axes from row to row"),
        (_no_axis, "row c-s5: x has the layout 1SD, and the row has no S"),
        (_no_id, "row 1 has no id"),
    ],
)
def test_rows_that_cannot_be_represented_are_refused_by_name(
    spoil: Any, reason: str, tmp_path: Path
) -> None:
    rows = folders.rows()
    spoil(rows)
    folder = folders.write_folder(tmp_path / "kda", rows)
    with pytest.raises(UsageError) as raised:
        import_from(folder, tmp_path / "task")
    assert raised.value.what == reason
    assert not (tmp_path / "task").exists()


def test_a_folder_without_a_reference_is_refused_with_what_to_write(tmp_path: Path) -> None:
    folder = folders.write_folder(tmp_path / "kda")
    (folder / "bench/reference.py").unlink()
    with pytest.raises(UsageError) as raised:
        import_from(folder, tmp_path / "task")
    assert raised.value.what == "there is no bench/reference.py: nobody has said what is right"


def test_a_native_side_with_a_binding_of_its_own_is_told(tmp_path: Path) -> None:
    folder = folders.write_folder(tmp_path / "kda")
    config = folders.CONFIG.replace("solution/binding.py", "solution/kernel.cu")
    (folder / "config.toml").write_text(config)
    (folder / "solution/kernel.cu").write_text("// TVM_FFI_DLL_EXPORT_TYPED_FUNC\n")
    made = import_from(folder, tmp_path / "task")
    assert made.solutions == ()
    assert made.left_out == (
        "solution: its cuda has a binding of its own: one here has the C ABI of assay.h",
    )
    # A baseline that cannot be held leaves no task.
    (folder / "config.toml").write_text(config.replace("baseline/binding.py", "baseline/no.py"))
    with pytest.raises(UsageError, match=r"config\.toml names baseline/no\.py, which is not there"):
        import_from(folder, tmp_path / "other")


def test_a_function_that_takes_other_names_is_told(tmp_path: Path) -> None:
    folder = folders.write_folder(tmp_path / "kda")
    (folder / "solution/binding.py").write_text("def scaled_add_candidate(x, out, eps): ...\n")
    made = import_from(folder, tmp_path / "task")
    assert made.left_out == ("solution: scaled_add_candidate has no parameter gate",)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = folders.write_folder(tmp_path / "kda")
    (tmp_path / "mine.py").write_text("secret = 1\n")
    (folder / "baseline/link.py").symlink_to(tmp_path / "mine.py")
    with pytest.raises(UsageError, match="a link that leaves its folder"):
        import_from(folder, tmp_path / "task")


def test_a_task_that_is_its_own_baseline_is_not_exported(tmp_path: Path) -> None:
    task = load_task("cpu/rms_norm")
    itself = ReferenceBaseline(kind="reference", name="itself", primary=True)
    changed = replace(task, task=task.task.model_copy(update={"baselines": (itself,)}))
    with pytest.raises(UsageError) as raised:
        export_kda(changed, tmp_path / "out")
    assert raised.value.what == (
        "its baseline itself is the reference, which has no sources of its own"
    )
    assert not (tmp_path / "out").exists()


def test_an_option_that_a_row_of_theirs_has_another_use_for_is_refused() -> None:
    row = Row.model_validate_json(
        json.dumps({"id": "r", "function": "f", "tensors": {}, "options": {"seed": 3}})
    )
    with pytest.raises(UsageError, match="no room for an option called seed"):
        kda_rows.written(row, exact=False)
