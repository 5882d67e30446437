"""In place of the search for a platform and its plugins: CUDA if torch has one, else none."""

from __future__ import annotations

import torch


class _Platform:
    def is_cuda(self) -> bool:
        return torch.version.cuda is not None and torch.cuda.is_available()

    def is_hip(self) -> bool:
        return False

    is_npu = is_mps = is_musa = is_xpu = is_hip


current_platform = _Platform()
