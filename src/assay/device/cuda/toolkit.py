"""Where the tools of the CUDA toolkit are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

USUAL_TOOLKIT = Path("/usr/local/cuda")


def find_tool(name: str) -> str | None:
    """A tool of the CUDA toolkit: on the PATH, in CUDA_HOME, or in the usual folder."""
    home = os.environ.get("CUDA_HOME")
    folders = [str(Path(root) / "bin") for root in (home, USUAL_TOOLKIT) if root]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))
