"""The scan of Python sources: by syntax, and comments by token."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

from assay.redteam.scan_finding import Finding
from assay.redteam.scan_finding import FindingKind
from assay.redteam.scan_finding import is_opaque
from assay.redteam.scan_finding import to_reviewer
from assay.spec.errors import quote

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
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield Finding(FindingKind.OBFUSCATION, path, 1, "not Python that can be read")
        return
    aliases = _aliases(tree)
    for node in ast.walk(tree):
        yield from _imports(path, node)
        if isinstance(node, ast.Call):
            yield from _calls(path, node, aliases)
        if isinstance(node, ast.Constant):
            yield from _constants(path, node)
    yield from _tokens(path, text)


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
            yield Finding(kind, path, node.lineno, f"import {quote(name)}")


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
        yield Finding(FindingKind.OBFUSCATION, path, node.lineno, f"{name}(…)")
    if name in _LOOKS_UP and not _plain_lookup(node):
        yield Finding(FindingKind.BUILT_NAME, path, node.lineno, f"{name}(…)")
    if name.startswith(_REACHES):
        yield Finding(FindingKind.IMPORT, path, node.lineno, f"{quote(name)}(…)")
    if name.startswith(_VENDOR):
        yield Finding(FindingKind.VENDOR_LIBRARY, path, node.lineno, f"{quote(name)}(…)")


def _plain_lookup(node: ast.Call) -> bool:
    """getattr of a name that stands there in full hides nothing."""
    return len(node.args) > 1 and isinstance(node.args[1], ast.Constant)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return ""


def _constants(path: str, node: ast.Constant) -> Iterator[Finding]:
    value = node.value
    if isinstance(value, bytes):
        value = value.decode("latin-1")
        if len(value) >= 64 and not value.isprintable():
            what = f"{len(value)} bytes that are no text"
            yield Finding(FindingKind.OPAQUE_LITERAL, path, node.lineno, what)
            return
    if not isinstance(value, str):
        return
    if is_opaque(value):
        what = f"{len(value)} characters of encoded data"
        yield Finding(FindingKind.OPAQUE_LITERAL, path, node.lineno, what)
    yield from to_reviewer(path, node.lineno, value)


def _tokens(path: str, text: str) -> Iterator[Finding]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from to_reviewer(path, token.start[0], token.string)
        if token.type == tokenize.NAME and not token.string.isascii():
            what = f"{quote(token.string)} is spelled in other letters"
            yield Finding(FindingKind.BUILT_NAME, path, token.start[0], what)
