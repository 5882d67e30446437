"""What this host's processor is."""

from __future__ import annotations

import re
from pathlib import Path

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_USUAL_CACHE = 32 << 20


def last_level_cache_bytes() -> int:
    """Size of the largest cache that the kernel lists; a usual size where it lists none."""
    sizes = [_size(path.read_text()) for path in _CACHES.glob("index*/size")]
    return max(sizes, default=_USUAL_CACHE)


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text.strip())
    return int(match[1]) * _UNITS.get(match[2], 1) if match else 0
