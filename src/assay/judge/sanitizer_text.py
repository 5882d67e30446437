"""What compute-sanitizer printed, as findings. Pure.

A report begins on a line of its own after the prefix; what belongs to it is indented:

    ========= Invalid __global__ write of size 4 bytes
    =========     at scale(float *, int)+0x160 in scale.cu:6
    =========     by thread (31,0,0) in block (1,0,0)
    ========= ERROR SUMMARY: 1 error

Any such line that is neither banner, summary nor a word about the exit status is a finding, known
by name or not.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_LONGEST = 1000
"""Of a name: those of templates are long, and the tool's words are foreign text."""

_LINE = re.compile(r"={8,9}(?: (\s*)(\S.*))?$")
# The exit status itself says the last two as well.
_NO_FINDING = re.compile(
    r"COMPUTE-SANITIZER$|.* SUMMARY: "
    r"|Error: process didn't terminate successfully|Target application returned an error"
)
_ERRORS = re.compile(r"ERROR SUMMARY: ([\d,]+) errors?$")
_HAZARDS = re.compile(r"RACECHECK SUMMARY: .*\(([\d,]+) errors?, ([\d,]+) warnings?\)$")
_UNPRINTED = re.compile(r"SUMMARY: ([\d,]+) \w+ were not printed")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")

# A place in the code, as newer and as older releases write it; the file only where the code was
# built with lines.
_PLACE = re.compile(
    r"(?P<kernel>.+?)[+:]0x[0-9a-f]+(?: in (?P<file>\S+):(?P<line>\d+))?$"
    r"|0x[0-9a-f]+ in (?:(?P<file2>[^:]+):(?P<line2>\d+):)?(?P<kernel2>.+)$"
)
_RACE = re.compile(r"(?P<what>(?:Warning: )?Race reported between \w+ access) at (?P<place>.+)$")
_OTHER_ACCESS = re.compile(r"(?P<what>and \w+ access) at ")
_AT = re.compile(r"at (?P<place>.+)$")
_FRAME = re.compile(r"Device Frame: ?(?P<place>.+)$")


@dataclass(frozen=True)
class Finding:
    """Reports that differ in nothing but the thread they name."""

    kind: str
    kernel: str | None
    """As the tool wrote it; None where it named none."""
    source: str | None
    """FILE:LINE, where the tool knew it."""
    count: int = 1
    excused: bool = False
    """Not in the solution's own kernels, and the baseline has the same."""


@dataclass(frozen=True)
class Printed:
    findings: tuple[Finding, ...]
    errors: int | None
    """How many the tool itself counted, printed or not; None without a summary."""


def read_output(text: str) -> Printed:
    """All findings in order of appearance, equal ones counted, and the tool's own count."""
    reports: list[list[str]] = []
    totals: list[int] = []
    unprinted = 0
    for line in text.splitlines():
        match = _LINE.match(line.rstrip())
        if match is None or match[2] is None:
            continue
        indent, words = match[1], match[2]
        if indent:
            if reports:
                reports[-1].append(words)
        elif not _NO_FINDING.match(words):
            reports.append([words])
        elif summed := _ERRORS.match(words) or _HAZARDS.match(words):
            totals.append(sum(map(_number, summed.groups())))
        elif more := _UNPRINTED.search(words):
            unprinted += _number(more[1])
    counted = Counter(_finding(report) for report in reports)
    findings = tuple(
        Finding(one.kind, one.kernel, one.source, count) for one, count in counted.items()
    )
    errors = max(sum(totals), len(reports) + unprinted) if totals else None
    return Printed(findings, errors)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _finding(report: list[str]) -> Finding:
    heading, *details = report
    heading = heading.removeprefix("Error: ")
    place = None
    if race := _RACE.match(heading):
        others = (_OTHER_ACCESS.match(detail) for detail in details)
        other = next((match["what"] for match in others if match), "")
        heading, place = f"{race['what']} {other}".strip(), race["place"]
    else:
        places = (_AT.match(detail) for detail in details)
        place = next((match["place"] for match in places if match), None)
    kernel, source = _where(place) if place is not None else (None, None)
    # The outermost device frame is the kernel; the place itself may be in a function it inlined.
    frames = [match["place"] for detail in details if (match := _FRAME.match(detail))]
    if frames:
        kernel = _where(frames[-1])[0] or kernel
    return Finding(
        kind=_bounded(_ADDRESS.sub("…", heading)),
        kernel=None if kernel is None else _bounded(kernel),
        source=None if source is None else _bounded(source),
    )


def _bounded(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:_LONGEST])


def _where(place: str) -> tuple[str | None, str | None]:
    match = _PLACE.match(re.sub(r" \[[\d,]+ hazards?\]$", "", place))
    if match is None:
        return None, None
    file, line = match["file"] or match["file2"], match["line"] or match["line2"]
    return match["kernel"] or match["kernel2"], f"{file}:{line}" if file else None


def bare_name(kernel: str) -> str:
    """A kernel's name without namespaces, templates and parameters.

    >>> bare_name("void at::native::fill<4, (anonymous namespace)::F<int>>(int, float *)")
    'fill'
    """
    before = ""
    while before != kernel:
        before, kernel = kernel, re.sub(r"<[^<>()]*>|\([^<>()]*\)", "", kernel)
    words = re.findall(r"\w+", re.split(r"[<(]", kernel)[0])
    return words[-1] if words else kernel
