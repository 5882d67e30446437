"""Writes the small part of TOML that a generated task.toml needs; tomllib only reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence

Value = bool | int | float | str | Sequence["Value"] | Mapping[str, "Value"]


def toml_value(value: Value) -> str:
    """One value on one line.

    >>> toml_value({"name": "x", "shape": ["n", 128], "eps": 1e-6, "constant": True})
    '{ name = "x", shape = ["n", 128], eps = 1e-06, constant = true }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which no name or sentence holds.
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml_value(v)}" for key, v in value.items()) + " }"
    return "[" + ", ".join(map(toml_value, value)) + "]"
