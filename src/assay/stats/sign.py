"""The sign test: a second opinion that knows nothing about distributions."""

from __future__ import annotations

import numpy as np
from scipy import stats

from assay.stats.blocks import Floats


def sign_test(values: Floats) -> float:
    """One-sided p that so many values share the sign of the majority by chance; zeros count half
    to neither side and are left out.

    >>> sign_test(np.array([0.01, 0.02, 0.01, 0.03, 0.02]))
    0.03125
    """
    signs = np.sign(values[values != 0])
    if not len(signs):
        return 1.0
    majority = max(int((signs > 0).sum()), int((signs < 0).sum()))
    return float(stats.binom.sf(majority - 1, len(signs), 0.5))


def majority_sign(values: Floats) -> int:
    """1, -1, or 0 for a tie."""
    return int(np.sign(np.sign(values).sum()))
