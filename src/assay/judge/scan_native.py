"""The scan of C, C++ and CUDA sources: line by line, comments apart from code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.judge.scan_text import is_opaque
from assay.judge.scan_text import seen
from assay.judge.scan_text import to_reviewer
from assay.spec.attention import Finding
from assay.spec.attention import FindingKind

# What is not closed ends with the file: a search for its end from every place where one could
# begin would take hours for a source that is made for it.
_COMMENT_OR_STRING = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n]){1,8}'", re.DOTALL
)
_RULES = (
    (
        FindingKind.IMPORT,
        re.compile(
            r"#\s*include\s*<(signal\.h|csignal|thread|pthread\.h|sys/(ptrace|socket|mman)\.h"
            r"|unistd\.h|chrono|ctime|time\.h|sched\.h)>"
            r"|\b(fork|clone|ptrace|clock_gettime|gettimeofday|pthread_create|system|execve?)\s*\("
        ),
    ),
    (
        FindingKind.VENDOR_LIBRARY,
        re.compile(
            r"\b(cublas(Lt)?|cudnn|cusparse|cutlass::gemm|thrust::|cub::|at::|torch::|mkl_|cblas_)"
            r"\w*"
        ),
    ),
    (FindingKind.NATIVE_LOADING, re.compile(r"\b(dl(v?sym|m?open|addr)|cuGetProcAddress)\s*\(")),
    (FindingKind.BUILT_NAME, re.compile(r"\w\s*##\s*\w|[^\x00-\x7f]+")),
    (FindingKind.OBFUSCATION, re.compile(r"(0x[0-9a-fA-F]{2}\s*,\s*){24,}|\basm\b|\b__asm__\b")),
)


def scan_native(path: str, text: str) -> Iterator[Finding]:
    code: list[str] = []
    line, end = 1, 0
    for match in _COMMENT_OR_STRING.finditer(text):
        before, part = text[end : match.start()], match.group()
        line += before.count("\n")
        if part.startswith("/"):
            yield from to_reviewer(path, line, part)
        elif is_opaque(part[1:-1]):
            what = f"{len(part) - 2} characters of encoded data"
            yield seen(FindingKind.OPAQUE_LITERAL, path, line, what)
        breaks = part.count("\n")
        code += [before, "\n" * breaks or " "]
        line, end = line + breaks, match.end()
    code.append(text[end:])
    for number, part in enumerate("".join(code).split("\n"), start=1):
        for kind, rule in _RULES:
            if found := rule.search(part):
                yield seen(kind, path, number, found.group().strip())
