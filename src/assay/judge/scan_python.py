"""The scan of Python sources: by syntax, and comments by token."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator

from assay.judge.scan_text import is_opaque
from assay.judge.scan_text import seen
from assay.judge.scan_text import to_reviewer
from assay.spec.attention import Finding
from assay.spec.attention import FindingKind

_IMPORTS = frozenset(
    {
        "assay",
        "atexit",
        "faulthandler",
        "gc",
        "inspect",
        "multiprocessing",
        "resource",
        "sched",
        "signal",
        "socket",
        "statistics",
        "subprocess",
        "threading",
        "time",
        "traceback",
        "urllib",
        "reference",
    }
)
_NATIVE = frozenset({"ctypes", "cffi", "_ctypes", "dl"})
_DECODERS = frozenset({"base64", "marshal", "zlib", "codecs", "pickle", "bz2", "lzma", "binascii"})
_MAKES_CODE = frozenset({"exec", "eval", "compile", "__import__"})
_LOOKS_UP = frozenset({"getattr", "setattr", "globals", "locals", "vars"})
_REACHES = (
    "importlib.",
    "os._exit",
    "os.exec",
    "os.fork",
    "os.kill",
    "os.open",
    "os.sched_",
    "os.write",
    "sys._current_frames",
    "sys._getframe",
    "sys.exit",
    "sys.setprofile",
    "sys.settrace",
)
_VENDOR = (
    "torch.ops.",
    "torch.compile",
    "torch.matmul",
    "torch.mm",
    "torch.bmm",
    "torch.addmm",
    "torch.einsum",
    "torch.nn.",
    "flashinfer.",
    "cublas",
    "cudnn",
)


def scan_python(path: str, text: str) -> Iterator[Finding]:
    try:
        tree = _parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield seen(FindingKind.OBFUSCATION, path, 1, "not Python that can be read")
        return
    aliases = _aliases(tree)
    for node in ast.walk(tree):
        yield from _imports(path, node)
        if isinstance(node, ast.Call):
            yield from _calls(path, node, aliases)
        if isinstance(node, ast.Constant):
            yield from _constants(path, node)
    yield from _tokens(path, text)


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes in strings: nobody asked for an opinion
        return ast.parse(text)


def _imports(path: str, node: ast.AST) -> Iterator[Finding]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module]
    for name in names:
        root = name.partition(".")[0]
        kind = (
            FindingKind.IMPORT
            if root in _IMPORTS
            else FindingKind.NATIVE_LOADING
            if root in _NATIVE
            else FindingKind.OBFUSCATION
            if root in _DECODERS
            else None
        )
        if kind is not None:
            assert isinstance(node, ast.Import | ast.ImportFrom)
            yield seen(kind, path, node.lineno, f"import {name}")


def _aliases(tree: ast.AST) -> dict[str, str]:
    """What the names that imports bind stand for."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            whole = {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
            found |= whole
    return found


def _calls(path: str, node: ast.Call, aliases: dict[str, str]) -> Iterator[Finding]:
    first, dot, rest = _dotted(node.func).partition(".")
    name = f"{aliases.get(first, first)}{dot}{rest}"
    if name in _MAKES_CODE:
        yield seen(FindingKind.OBFUSCATION, path, node.lineno, f"{name}(…)")
    if name in _LOOKS_UP and not _plain_lookup(node):
        yield seen(FindingKind.BUILT_NAME, path, node.lineno, f"{name}(…)")
    if name.startswith(_REACHES):
        yield seen(FindingKind.IMPORT, path, node.lineno, f"{name}(…)")
    if name.startswith(_VENDOR):
        yield seen(FindingKind.VENDOR_LIBRARY, path, node.lineno, f"{name}(…)")


def _plain_lookup(node: ast.Call) -> bool:
    """getattr of a name that stands there in full hides nothing."""
    return len(node.args) > 1 and isinstance(node.args[1], ast.Constant)


def _dotted(node: ast.expr) -> str:
    names: list[str] = []
    while isinstance(node, ast.Attribute):  # not by recursion: a chain may be as long as a file
        names.append(node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "", *reversed(names)])


def _constants(path: str, node: ast.Constant) -> Iterator[Finding]:
    value = node.value
    if isinstance(value, bytes):
        value = value.decode("latin-1")
        if len(value) >= 64 and not value.isprintable():
            what = f"{len(value)} bytes that are no text"
            yield seen(FindingKind.OPAQUE_LITERAL, path, node.lineno, what)
            return
    if not isinstance(value, str):
        return
    if is_opaque(value):
        what = f"{len(value)} characters of encoded data"
        yield seen(FindingKind.OPAQUE_LITERAL, path, node.lineno, what)
    yield from to_reviewer(path, node.lineno, value)


def _tokens(path: str, text: str) -> Iterator[Finding]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield from to_reviewer(path, token.start[0], token.string)
            if token.type == tokenize.NAME and not token.string.isascii():
                what = f"{token.string} is spelled in other letters"
                yield seen(FindingKind.BUILT_NAME, path, token.start[0], what)
    except (tokenize.TokenError, SyntaxError):
        yield seen(FindingKind.OBFUSCATION, path, 1, "comments that cannot be told from code")
