"""Embedded: texts that go into a generated reference, which imports nothing of ours."""

from __future__ import annotations

from pathlib import Path

FUTURE = "from __future__ import annotations"
IMPORTS = (
    "import sys",
    "import types",
    "from collections.abc import Callable",
    "from collections.abc import Iterable",
    "from collections.abc import Mapping",
    "from typing import Any",
    "",
    "import torch",
    "from torch.overrides import TorchFunctionMode",
)

OUTPUTS = '''\
class Outputs:
    """What a reference returns: floats in float64, whole numbers in int64, one after the other."""

    @classmethod
    def of(cls, answer: Any) -> Any:
        found = [cls.widened(part).contiguous() for part in cls.flat(answer)]
        return found[0] if len(found) == 1 else tuple(found)

    @classmethod
    def flat(cls, answer: Any) -> list[Any]:
        if isinstance(answer, (tuple, list)):
            return [part for inner in answer for part in cls.flat(inner)]
        return [answer]

    @staticmethod
    def widened(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype is torch.bool:
            return tensor
        return tensor.double() if tensor.is_floating_point() else tensor.long()
'''


_LOADED = """\
_path = Path(__file__).with_name({first}).joinpath(*{rest})
sys.path.insert(0, str(_path.parent))
_spec = importlib.util.spec_from_file_location("submission", _path)
_submission = importlib.util.module_from_spec(_spec)
sys.modules["submission"] = _submission
_spec.loader.exec_module(_submission)
"""


def loaded(path: str) -> str:
    """Source that loads the file beside it as the module `_submission`."""
    first, *rest = path.split("/")
    return _LOADED.format(first=repr(first), rest=repr(tuple(rest)))


def with_alias(source: str, own: str, wanted: str, *, on_gpu: bool) -> str:
    """A native source as it is, with the task's name for its function added at the end."""
    if own == wanted:
        return source
    stream, passed = (", cudaStream_t stream", ", stream") if on_gpu else ("", "")
    alias = (
        f'extern "C" int {wanted}(const assay_tensor* tensors, const double* options, '
        f"void* state{stream}) {{ return {own}(tensors, options, state{passed}); }}"
    )
    return headed(source, alias)


def wide_text() -> str:
    """The class Wide, as it stands in wide.py."""
    text = Path(__file__).with_name("wide.py").read_text()
    return text[text.index("class Wide") :]


def literal(text: str) -> str:
    """Python source of the text, readable where it can be.

    >>> literal("a = 1")
    "r'''a = 1'''"
    """
    plain = "'''" not in text and "\r" not in text and not text.endswith(("'", "\\"))
    return f"r'''{text}'''" if plain else repr(text)


def headed(*parts: str) -> str:
    """Parts of a source with two empty lines between them."""
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"
