"""Where the ledger is when nobody says."""

from __future__ import annotations

import os
from pathlib import Path


def default_path() -> Path:
    """`$ASSAY_HOME/ledger`, or `.assay/ledger` in the working folder."""
    return Path(os.environ.get("ASSAY_HOME") or ".assay") / "ledger"
