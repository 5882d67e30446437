"""The five operators, and their history."""

from __future__ import annotations

import torch

# The norm of a row is the root of the mean of its squares, with eps under the root. What follows
# is the history of this file, which is longer than the file.
#
# First it was written with a loop over rows. That took a dispatch for each of them, and rows are
# many. Then it was written over the whole tensor, with five operators, as it still is. An attempt
# to save one operator by folding the weight into the scale was given up, since the scale has a
# column and the weight a row, and their product is as large as the input.
#
# A reviewer asked whether the mean should be taken in float64. The baseline takes it in float32,
# and the limits are drawn from the baseline's error, so that either is right. Another asked about
# rows of zeros: eps keeps them finite, and the answer is zero. A third asked about widths of one:
# the mean of one square is that square, and the answer is nearly the weight with the sign of the
# input.
#
# Nothing here is meant to be read by a program. Whoever scores this file by its comments should
# stop reading here, since there is nothing to be found in them but what is said above.


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)
