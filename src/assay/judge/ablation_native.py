"""Sites of C++ and CUDA sources: `kernel<<<…>>>(…)`, the runtime's launch calls, and statements
that call an own function: one that stores in C++ for the CPU, one that launches in CUDA.

Left alone are calls whose result is used, and functions that store nothing: to look ahead or to
check arguments is no decoy.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping

from assay.judge.ablation_site import Site
from assay.judge.ablation_text import Code
from assay.judge.kernel_names import defined_kernels

_NOTHING = b"((void)0)"
_TRAP = b"(__builtin_trap())"
_NO_ERROR = b"((cudaError_t)0)"
_TRAP_OR_ERROR = b"(__builtin_trap(), (cudaError_t)0)"
# With the place of the kernel among their arguments.
_LAUNCH_CALLS = {
    "cudaLaunchKernel": 0,
    "cudaLaunchCooperativeKernel": 0,
    "cudaLaunchKernelExC": 1,
    "cudaLaunchKernelEx": 1,
}
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_LAUNCH = re.compile(r"<<<|\b(?:" + "|".join(_LAUNCH_CALLS) + r")\s*\(")
_CONFIGURING = re.compile(r"[>(\[{;]")
_CONFIGURED = re.compile(r">>>\s*\(")
_STORE = re.compile(
    r"\]\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)"  # a[i] = …
    r"|(?:^|[;{})])\s*\*[\w\s+\-()\[\]*>.]{1,80}?[^=!<>]=(?!=)"  # *p = …
    r"|\b(?:memcpy|memset|memmove|copy|copy_n|fill|fill_n|transform)\s*\("
    r"|\b\w*(?:store|scatter|vst\d)\w*\s*\("
)
_ENDED = re.compile(r"\s*;")
_STATEMENT_BEFORE = ";{})"
_WORDS_BEFORE = frozenset({"else", "do"})
_CONFIGURATION = 4096
"""Characters of a launch's configuration at most."""
_MOST_LOOKED = 1000
"""Places of one source that are looked at, whatever they turn out to be."""


def native_sites(sources: Mapping[str, bytes], most: int, *, cuda: bool) -> list[Site]:
    """So many at most, of launches and of calls."""
    # One byte is one character, so that places in the text are places in the source.
    texts = {path: content.decode("latin-1") for path, content in sources.items()}
    codes = {path: Code(text, macros=False) for path, text in texts.items()}
    called = _functions_with(_LAUNCH if cuda else _STORE, codes.values())
    found: list[Site] = []
    if cuda:
        kernels = defined_kernels(sources)
        for path, text in texts.items():
            code = Code(text, macros=True)
            found += itertools.islice(_launches(path, code, kernels), most)
            found += itertools.islice(_launch_calls(path, code, kernels), most)
    for path, code in codes.items():
        found += itertools.islice(_statement_calls(path, code, called), most)
    return found[:most]


def _launches(path: str, code: Code, kernels: frozenset[str]) -> Iterator[Site]:
    for match in itertools.islice(re.finditer("<<<", code.text), _MOST_LOOKED):
        start, end = code.operand(match.start()), _launch_end(code, match.start())
        if start is not None and end is not None:
            name = _last_name(code.text[start : match.start()])
            line = code.line(start)
            yield Site(path, line, name, start, end, _NOTHING, _TRAP, known=name in kernels)


def _launch_end(code: Code, at: int) -> int | None:
    place, last = at + 3, at + _CONFIGURATION
    while (found := _CONFIGURING.search(code.text, place, last)) is not None:
        if found[0] == ";":
            return None
        if found[0] == ">":
            match = _CONFIGURED.match(code.text, found.start())
            if match is not None:
                end = code.pairs.get(match.end() - 1)
                return None if end is None else end + 1
            place = found.end()
        else:  # over a bracket to its other half: what is in there configures nothing
            place = code.pairs.get(found.start(), found.start()) + 1
    return None


def _launch_calls(path: str, code: Code, kernels: frozenset[str]) -> Iterator[Site]:
    for match in code.calls():
        end = code.pairs.get(match.end() - 1)
        if match[1] not in _LAUNCH_CALLS or end is None:
            continue
        arguments = code.text[match.end() : end].split(",")
        index = _LAUNCH_CALLS[match[1]]
        name = _last_name(arguments[index]) if index < len(arguments) else match[1]
        span = (match.start(), end + 1)
        line, known = code.line(match.start()), name in kernels
        yield Site(path, line, name, *span, _NO_ERROR, _TRAP_OR_ERROR, known=known)


def _statement_calls(path: str, code: Code, called: frozenset[str]) -> Iterator[Site]:
    matches = (match for match in code.calls() if match[1] in called)
    for match in itertools.islice(matches, _MOST_LOOKED):
        start, end = code.operand(match.end() - 1), code.pairs.get(match.end() - 1)
        if start is None or end is None or _ENDED.match(code.text, end + 1) is None:
            continue
        if _begins_statement(code, start):
            span = (start, end + 1)
            yield Site(path, code.line(start), match[1], *span, _NOTHING, _TRAP, is_launch=False)


def _begins_statement(code: Code, start: int) -> bool:
    at = code.before(start)
    if at < 0 or code.text[at] in _STATEMENT_BEFORE:
        return at >= 0
    if code.text[at] == ":":
        return code.text[at - 1] != ":"  # after a label
    words = _IDENTIFIER.findall(code.text[max(at - 7, 0) : at + 1])
    return bool(words) and words[-1] in _WORDS_BEFORE


def _functions_with(pattern: re.Pattern[str], codes: Iterable[Code]) -> frozenset[str]:
    """Functions that do such a thing, or call one that does."""
    functions = [function for code in codes for function in code.functions()]
    found = {function.name for function in functions if pattern.search(function.body)}
    calls: dict[str, set[str]] = {}
    for function in functions:
        calls.setdefault(function.name, set()).update(_IDENTIFIER.findall(function.body))
    while True:
        more = {name for name, used in calls.items() if used & found} - found
        if not more:
            return frozenset(found)
        found |= more


def _last_name(text: str) -> str:
    """`b` of `a::b<c, d>`, `table` of `table[i]`."""
    names = _IDENTIFIER.findall(re.split(r"[<\[(]", text)[0]) or _IDENTIFIER.findall(text)
    return names[-1] if names else "unnamed"
