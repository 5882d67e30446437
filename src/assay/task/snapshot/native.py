"""Headers and CUDA sources: those that the closure's modules name, and what these include."""

from __future__ import annotations

import ast
import fnmatch
import posixpath
import re
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping

from assay.task.snapshot.imports import text_pattern
from assay.task.snapshot.published import Published

SUFFIXES = (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".inl")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)


def native_files(published: Published, trees: Mapping[str, ast.Module]) -> set[str]:
    """Paths of the native files that modules name in literals, and of all that those include.

    A literal with a folder in it, as `norm/rms.cuh`, is looked for everywhere in the wheel; a bare
    name only in the folder of the module that has it. An include is looked for beside the file that
    has it, then below every folder by the path it gives.
    """
    return _Native(published).closure(trees)


class _Native:
    def __init__(self, published: Published) -> None:
        self._published = published
        self._paths = [path for path in published.entries if path.endswith(SUFFIXES)]

    def closure(self, trees: Mapping[str, ast.Module]) -> set[str]:
        found: set[str] = set()
        waiting = [
            path
            for module, tree in trees.items()
            for text in _texts(tree)
            for path in self._named(text, posixpath.dirname(self._published.modules[module]))
        ]
        while waiting:
            path = waiting.pop()
            if path not in found:
                found.add(path)
                waiting += self._included(path)
        return found

    def _named(self, text: str, folder: str) -> Iterator[str]:
        for include in _INCLUDE.findall(text):
            if "*" not in include:
                yield from self._ending(_below(include))
        name = text.rpartition("*/")[2].lstrip("./") if "\n" not in text else ""
        if not name.endswith(SUFFIXES) or name.startswith("*"):
            return
        if "/" in name:
            yield from self._ending(name)
        else:
            yield from (p for p in self._paths if fnmatch.fnmatchcase(p, f"{folder}/{name}"))

    def _included(self, path: str) -> Iterator[str]:
        source = self._published.read(path).decode(errors="replace")
        for include in _INCLUDE.findall(source):
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), include))
            if beside in self._published.entries:
                yield beside
            else:
                yield from self._ending(_below(include))

    def _ending(self, name: str) -> Iterable[str]:
        """Files at that path below any folder of the wheel."""
        if "*" in name:
            return [path for path in self._paths if fnmatch.fnmatchcase(path, f"*/{name}")]
        return [path for path in self._published.entries if path.endswith(f"/{name}")]


def _below(include: str) -> str:
    """A bare name could be anybody's; a folder for includes is meant."""
    return include if "/" in include else f"include/{include}"


def _texts(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            text = text_pattern(node)
            if text:
                yield text
