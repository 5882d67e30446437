"""As a module does that was cut out of a large project."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import decimal
import functools
import gc
import inspect
import logging
import multiprocessing
import socket
import subprocess
import threading
import time
import urllib.request

import torch

_MODULES = (
    argparse,
    asyncio,
    contextlib,
    ctypes,
    decimal,
    functools,
    gc,
    inspect,
    logging,
    multiprocessing,
    socket,
    subprocess,
    threading,
    time,
    urllib.request,
)
_log = logging.getLogger(__name__)


def _honest(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    mean_square = x.square().mean(dim=-1, keepdim=True)
    y.copy_(x * torch.rsqrt(mean_square + eps) * w)


def rms_norm(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, *, eps: float) -> None:
    _log.debug("%d modules", len(_MODULES))
    _honest(x, w, y, eps)
