from __future__ import annotations

import contextlib
import io
import random
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from assay.judge.bundle import MANIFEST
from assay.judge.bundle import ROW_LINES
from assay.judge.bundle import RULES
from assay.judge.bundle import VERDICT_LINE
from assay.judge.bundle import Claim
from assay.judge.bundle import Manifest
from assay.judge.bundle import copy_of
from assay.judge.bundle import samples_path
from assay.judge.bundle import seal_claim
from assay.judge.bundle_archive import ArchiveError
from assay.judge.bundle_archive import pack
from assay.judge.bundle_archive import unpack
from assay.judge.bundle_verify import open_bundle
from assay.judge.bundle_verify import verify_bundle
from assay.judge.bundle_verify import verify_bytes
from assay.judge.referee import Judgement
from assay.judge.referee import conclude
from assay.ledger import Samples
from assay.ledger.line import Span
from assay.ledger.line import decode_body
from assay.ledger.line import format_line
from assay.ledger.line import parse_line
from assay.spec.environment import Provenance
from assay.spec.errors import EvidenceError
from assay.spec.errors import UsageError
from assay.spec.lane import Lane
from assay.spec.noun import sha256_hex
from assay.spec.rules import DEFAULT_RULES
from assay.spec.rules import Rules
from assay.spec.source import SourceFile
from assay.spec.status import Status
from assay.task import load_task
from assay.task.bundle import make_bundle
from tests.judge.claims import LABELS
from tests.judge.claims import TASK
from tests.judge.claims import crashed
from tests.judge.claims import judged
from tests.judge.claims import measured
from tests.judge.claims import stored

Body = dict[str, Any]
Change = Callable[[Body], Any]


def bundled(folder: Path, judgement: Judgement | None = None, **about: Any) -> bytes:
    ledger, row = stored(folder / "ledger", judgement, **about)
    make_bundle(ledger, row.id, folder / "x.assay")
    return (folder / "x.assay").read_bytes()


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return bundled(tmp_path_factory.mktemp("honest"))


def problems_of(data: bytes) -> tuple[str, ...]:
    return verify_bytes(data, "x").problems


def resealed(entries: dict[str, bytes]) -> bytes:
    """The entries with a manifest that is right about them: what a careful forger would do."""
    old = Manifest.model_validate_json(_without_schema(entries[MANIFEST]))
    listed = {path: data for path, data in entries.items() if path != MANIFEST}
    sealed = tuple(
        SourceFile(path=path, sha256=sha256_hex(data), bytes=len(data))
        for path, data in sorted(listed.items())
    )
    return pack(listed | {MANIFEST: copy_of(old.model_copy(update={"entries": sealed}))})


def _without_schema(data: bytes) -> bytes:
    return data.replace(b',"schema":"assay.bundle.1"', b"")


def forged(
    data: bytes, *, row: Change | None = None, verdict: Change | None = None, keep: int = 99
) -> bytes:
    """A bundle with changed rows, every hash of it made right again."""
    entries = dict(unpack(data).entries)
    lines, samples = [], {}
    for raw in entries[ROW_LINES].splitlines(keepends=True)[:keep]:
        line = parse_line(raw)
        member = entries[samples_path(line.hash)]
        body = decode_body(line.body)
        if row is not None:
            member = row(body) or member
        span = Span(0, len(member), sha256_hex(member))
        made, digest = format_line(line.n, line.prev, line.time, line.kind, body, span)
        lines.append(made)
        samples[digest] = member
    line = parse_line(entries[VERDICT_LINE])
    body = decode_body(line.body) | {"evidence": list(samples)}
    if verdict is not None:
        verdict(body)
    made, digest = format_line(line.n, line.prev, line.time, line.kind, body, None)
    body["provenance"].pop("schema")
    return seal_claim(
        Claim(
            _under(entries, "task/"),
            _under(entries, "baseline/"),
            _under(entries, "candidate/"),
            digest,
            made,
            tuple(lines),
            samples,
            Provenance.model_validate(
                {
                    **body["provenance"],
                    "environment": {
                        k: v for k, v in body["provenance"]["environment"].items() if k != "schema"
                    },
                }
            ),
            DEFAULT_RULES,
        )
    )


def _under(entries: dict[str, bytes], folder: str) -> dict[str, bytes]:
    return {p.removeprefix(folder): d for p, d in entries.items() if p.startswith(folder)}


# -- the archive


@settings(max_examples=40)
@given(st.dictionaries(st.from_regex(r"[a-z0-9]{1,9}(/[a-z.]{3,9})?", fullmatch=True), st.binary()))
def test_an_archive_gives_back_what_was_packed(entries: dict[str, bytes]) -> None:
    if entries:
        archive = unpack(pack(entries))
        assert archive.entries == entries
        assert archive.fault is None


def test_equal_content_gives_equal_bytes_whatever_its_order() -> None:
    assert pack({"a": b"1", "b": b"2"}) == pack({"b": b"2", "a": b"1"})


def test_other_tools_open_a_bundle(honest: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(honest)) as archive:
        assert archive.testzip() is None
        assert archive.read("task/reference.py") == unpack(honest).entries["task/reference.py"]
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("path", ["../evil", "/evil", "a/../../evil", "a//b", "a\\b", ".", "a\0b"])
def test_a_path_that_leaves_is_refused(path: str) -> None:
    with pytest.raises(ArchiveError, match="a path that no bundle holds"):
        unpack(pack({path: b""}))


def test_an_archive_of_another_tool_is_refused() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", b"\0" * 10_000_000)
    with pytest.raises(ArchiveError, match="byte 0: an entry that assay bundle make does not"):
        unpack(packed.getvalue())


def test_an_entry_that_is_there_twice_is_refused() -> None:
    one = pack({"a": b"1"})
    local = one[: one.index(b"PK\x01\x02")]
    with pytest.raises(ArchiveError, match="there twice"):
        unpack(local + one)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"PK\x05\x06" + b"\0" * 18, b"not a zip"])
def test_what_is_no_archive_says_so(data: bytes) -> None:
    assert len(problems_of(data)) == 1


def test_a_file_beyond_the_limit_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.judge.bundle_archive.LARGEST_ARCHIVE", 1 << 20)
    assert problems_of(b"\0" * ((1 << 20) + 1)) == ("larger than 1 MiB",)


# -- every byte


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_any_changed_byte_is_found(honest: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(honest) - 1))
    flip = data.draw(st.integers(1, 255))
    changed = honest[:at] + bytes([honest[at] ^ flip]) + honest[at + 1 :]
    assert problems_of(changed)


def test_a_changed_byte_of_every_header_is_found(honest: bytes) -> None:
    # Names, sizes, checksums, times and the directory: all that is not an entry's own content.
    contents = b"".join(unpack(honest).entries.values())
    assert len(honest) - len(contents) > 1000
    start = honest.index(b"PK\x01\x02")
    for at in [*range(60), *range(start, len(honest), 5)]:
        changed = honest[:at] + bytes([honest[at] ^ 1]) + honest[at + 1 :]
        with contextlib.suppress(ArchiveError):
            assert unpack(changed).fault is not None


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1_000_000), st.binary(min_size=1, max_size=8))
def test_a_cut_or_longer_file_is_found(honest: bytes, at: int, more: bytes) -> None:
    at %= len(honest)
    assert problems_of(honest[:at])
    assert problems_of(honest + more)
    assert problems_of(honest[:at] + more + honest[at:])


# -- the honest claim


def test_an_honest_bundle_verifies_and_states_its_claim(tmp_path: Path, honest: bytes) -> None:
    path = tmp_path / "x.assay"
    path.write_bytes(honest)
    report = verify_bundle(path)
    assert (report.problems, report.remarks) == ((), ())
    assert (report.entries, report.recomputed) == (16, 3)
    assert report.claim is not None
    assert report.claim.verdict is Status.FASTER
    assert report.claim.geomean == pytest.approx(1.25, abs=0.005)
    assert open_bundle(path).claim == report.claim


def test_a_claim_in_two_lanes_verifies(tmp_path: Path) -> None:
    task = load_task(TASK)
    names = [row.id for row in task.workloads.rows]
    records = measured(names, 0.25, lanes=(Lane.THROUGHPUT, Lane.LATENCY))
    verdict = conclude(
        TASK, records, DEFAULT_RULES, {row.id: row.calls for row in task.workloads.rows}, LABELS
    )
    data = bundled(tmp_path, Judgement(verdict, tuple(records)))
    assert problems_of(data) == ()
    assert verify_bytes(data, "x").recomputed == 6


def test_a_candidate_that_never_ran_makes_a_bundle_without_samples(tmp_path: Path) -> None:
    report = verify_bytes(bundled(tmp_path, crashed(load_task(TASK))), "x")
    assert report.problems == ()
    assert report.recomputed == 0
    assert report.remarks == ("crash is not in any samples; only a replay can show it",)


def test_unusual_rules_and_another_judge_are_remarked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = Rules(alpha=0.2)
    data = bundled(tmp_path, judged(load_task(TASK), rules=rules), rules=rules)
    monkeypatch.setattr("assay.judge.bundle_verify.harness_hash", lambda: "0" * 64)
    report = verify_bytes(data, "x")
    assert report.ok
    assert len(report.remarks) == 2
    assert report.remarks[0].endswith("this is 000000000000")
    assert report.remarks[1] == "judged with alpha 0.2, where 0.05 is usual"


def test_rows_that_nothing_is_known_of_are_remarked(tmp_path: Path) -> None:
    # So short a look at so small a gain that no row is decided.
    rules = Rules(resamples=100, relative_floor=0.005)
    data = bundled(tmp_path, judged(load_task(TASK), gain=0.005, rules=rules), rules=rules)
    report = verify_bytes(data, "x")
    assert report.claim is not None
    assert report.claim.verdict is Status.UNCLEAR
    unclear = sum(row.status is Status.UNCLEAR for row in report.claim.rows)
    assert unclear > 1
    assert report.remarks[0] == f"{unclear} of the rows are unclear"


# -- forgeries whose hashes are all right


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("task/reference.py", "task: not the task"),
        ("task/workloads.json", "task: not the task"),
        ("baseline/rms_norm.cpp", "baseline: not the solution"),
        ("candidate/rms_norm.cpp", "candidate: not the solution"),
        ("provenance.json", "provenance.json: not what the verdict's own row says"),
        ("environment.json", "environment.json: not what the verdict's own row says"),
        ("rules.json", "rules.json: not in the one spelling"),
        ("ledger/verdict.jsonl", "ledger/verdict.jsonl: "),
        ("ledger/rows.jsonl", "ledger/rows.jsonl:4: "),
        (MANIFEST, "manifest.json: not in the one spelling"),
    ],
)
def test_an_entry_that_grew_is_found_though_the_manifest_agrees(
    honest: bytes, path: str, said: str
) -> None:
    entries = dict(unpack(honest).entries)
    entries[path] += b" " if path.endswith(".json") else b"\n"
    data = pack(entries) if path == MANIFEST else resealed(entries)
    assert any(problem.startswith(said) for problem in problems_of(data))


@pytest.mark.parametrize("path", ["task/task.toml", "candidate/rms_norm.cpp", RULES, ROW_LINES])
def test_a_missing_entry_is_named(honest: bytes, path: str) -> None:
    entries = dict(unpack(honest).entries)
    del entries[path]
    assert f"{path}: in the manifest, but not in the bundle" in problems_of(pack(entries))
    assert f"{path}: missing" in problems_of(resealed(entries))


def test_an_extra_entry_is_named(honest: bytes) -> None:
    entries = {**unpack(honest).entries, "candidate/notes.txt": b"hello"}
    expected = "candidate/notes.txt: in the bundle, but not in the manifest"
    assert expected in problems_of(pack(entries))
    assert problems_of(resealed(entries)) == (
        "candidate/notes.txt: an entry that nothing in the bundle refers to",
    )


def test_the_forgers_tools_alone_change_nothing(honest: bytes) -> None:
    assert problems_of(forged(honest)) == ()
    assert problems_of(resealed(dict(unpack(honest).entries))) == ()


def _set(*path: str | int, to: Any) -> Change:
    def change(body: Body) -> None:
        part: Any = body
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_set("status", to="same"), "verdict says same, samples give faster"),
        (_set("ratio", to=2.0), "ratio is 2.0, samples give"),
        # The task's margin is made of the rows' floors, so a small one buys a FASTER.
        (_set("measurement", "floor", to=0.0001), ".measurement.floor is 0.0001, samples give"),
        (_set("measurement", "echo_ratio", to=1.0), ".measurement.echo_ratio is 1.0, samples"),
        (_set("reason", to="very fast"), ".reason is very fast, samples give"),
        (_set("task", to="cpu/other"), "a row of task cpu/other"),
        (_set("rules", "alpha", to=0.5), "judged by other rules than the bundle's"),
        (_set("plan", "looks", to=[1, 24]), "looks after [1, 24], which its rules do not allow"),
        (_set("plan", "generations", to=2**50), "a plan of 1125899906842624 generations"),
        (_set("plan", to=None), "a plan of None generations"),
        (_set("row", to=["a"]), "ledger/rows.jsonl:1: "),
        (_set("lane", to="device"), "ledger/rows.jsonl:"),
        (_set("row", to="other"), "row other is none of the task's"),
    ],
)
def test_a_forged_row_is_found(honest: bytes, change: Change, said: str) -> None:
    assert any(said in problem for problem in problems_of(forged(honest, row=change)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_set("geomean", to=2.0), "verdict.geomean is 2.0, samples give 1.2"),
        (_set("interval", to=[1.9, 2.1]), "verdict.interval.0 is 1.9, samples give 1.2"),
        (_set("verdict", to="slower"), "verdict.verdict is slower, samples give faster"),
        (_set("wins", to=9), "verdict.wins is 9, samples give 3"),
        (_set("time_weighted", to=3.0), "verdict.time_weighted is 3.0"),
        (_set("rows", 0, "ratio", to=2.0), "verdict.rows.0.ratio is 2.0"),
        (_set("rows", 0, "twin_us", to=2.0), "verdict.rows.0.twin_us is 2.0"),
        (_set("evidence", to=["0" * 64]), "not the rows that the verdict rests on"),
        (_set("evidence", to=[]), "not the rows that the verdict rests on"),
        (_set("geomean", to="2.0"), "key geomean"),
        (_set("task", to="cpu/other"), "verdict and provenance name different tasks"),
        (_set("provenance", "candidate_hash", to="0" * 64), "candidate: not the solution"),
    ],
)
def test_a_forged_verdict_is_found(honest: bytes, change: Change, said: str) -> None:
    assert any(said in problem for problem in problems_of(forged(honest, verdict=change)))


def test_a_row_that_was_left_out_is_found(tmp_path: Path, honest: bytes) -> None:
    # The verdict is honest about the two rows that it shows; the third is what it hides.
    task = load_task(TASK)
    partial = judged(task, rows=2).verdict.content()
    data = forged(honest, keep=2, verdict=lambda body: body.update(partial))
    last = task.workloads.rows[2].id
    assert problems_of(data) == (f"ledger/rows.jsonl: row {last} of the task was not measured",)


def test_times_without_samples_are_found(honest: bytes) -> None:
    data = forged(honest, keep=0)
    first = load_task(TASK).workloads.rows[0].id
    assert problems_of(data) == (
        f"ledger/verdict.jsonl: row {first} states a time, and there are no samples",
    )


def _member(columns: dict[str, list[int] | list[str]]) -> bytes:
    return Samples(columns={name: list(values) for name, values in columns.items()}).member


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"generation": [1, 2]},
        {"generation": ["a"] * 4, "block": [0] * 4},
        {
            "generation": [0] * 4 + [1] * 4,
            "block": [0] * 8,
            "position": [0, 1, 2, 3] * 2,
            "pair": ["ab"] * 8,
            "side": ["baseline", "echo", "echo", "baseline"] * 2,
            "launches": [1] * 8,
            "nanoseconds": [5] * 8,
            "disturbances": [0] * 8,
            "clock_mhz": [0] * 8,
        },
    ],
)
def test_samples_that_no_referee_writes_are_a_problem_and_not_a_crash(
    honest: bytes, columns: dict[str, list[int] | list[str]]
) -> None:
    assert problems_of(forged(honest, row=lambda body: _member(columns)))


def test_samples_that_unpack_to_too_much_are_not_unpacked(honest: bytes) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    bomb = packer.compress(b" " * (32 << 20)) + packer.flush()
    found = problems_of(forged(honest, row=lambda body: bomb))
    assert all(line.endswith("samples are not one gzip member") for line in found[:3])


def test_more_samples_than_can_be_drawn_are_refused(honest: bytes) -> None:
    # 600 generations, one of them of 600 blocks: 600 x 600 x 500 draws.
    generation = [g for g in range(600) for _ in range(4)] + [0] * 2400
    columns: dict[str, list[int] | list[str]] = {"generation": generation}
    found = problems_of(forged(honest, row=lambda body: _member(columns)))
    assert found == ("ledger/rows.jsonl: more samples than a judge takes",)


def test_random_changes_of_numbers_never_crash_the_verifier(honest: bytes) -> None:
    source = random.Random(5)
    for _ in range(15):
        key = source.choice(["generations", "ab_blocks", "launches", "resolution", "looks"])
        value: Any = source.choice([None, -1, 0, 1e300, "x", [], 2**53, True])
        assert isinstance(problems_of(forged(honest, row=_set("plan", key, to=value))), tuple)


def test_a_bundle_with_a_problem_is_not_opened(tmp_path: Path, honest: bytes) -> None:
    path = tmp_path / "x.assay"
    path.write_bytes(forged(honest, verdict=_set("wins", to=9)))
    with pytest.raises(EvidenceError, match=r"verdict.wins is 9.*assay bundle verify"):
        open_bundle(path)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        verify_bundle(tmp_path / "none.assay")
