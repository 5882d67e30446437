"""The scan of C, C++ and CUDA sources: line by line, comments apart from code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.redteam.scan_finding import Finding
from assay.redteam.scan_finding import FindingKind
from assay.redteam.scan_finding import is_opaque
from assay.redteam.scan_finding import to_reviewer
from assay.spec.errors import quote

_COMMENT_OR_STRING = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
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
    code = list(text)
    for match in _COMMENT_OR_STRING.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        part = match.group()
        if part.startswith("/"):
            yield from to_reviewer(path, line, part)
        elif is_opaque(part[1:-1]):
            what = f"{len(part) - 2} characters of encoded data"
            yield Finding(FindingKind.OPAQUE_LITERAL, path, line, what)
        code[match.start() : match.end()] = ("\n" if c == "\n" else " " for c in part)
    for line, part in enumerate("".join(code).splitlines(), start=1):
        for kind, rule in _RULES:
            if found := rule.search(part):
                yield Finding(kind, path, line, quote(found.group().strip()))
