"""Problems of our own, written the way KernelBench writes its own."""

from __future__ import annotations

_HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"

ELEMENT_WISE = (
    _HEAD
    + '''
class Model(nn.Module):
    """Swish of each element, twice as steep."""

    def __init__(self):
        super(Model, self).__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(2.0 * x)


batch_size = 6
dim = 40


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []  # No special initialization inputs needed
'''
)

MATMUL = (
    _HEAD
    + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor, s: float) -> torch.Tensor:
        return torch.matmul(A.T, B) * s


M, K, N = 12, 20, 16


def get_inputs():
    return [torch.rand(K, M), torch.rand(K, N), 0.75]


def get_init_inputs():
    return []
"""
)

CONVOLUTION = (
    _HEAD
    + """
class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.scale = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x):
        x = self.conv(x)
        return torch.tanh(x) * self.scale


def get_inputs():
    return [torch.rand(2, 3, 9, 8)]


def get_init_inputs():
    return [3, 5, 3]
"""
)

BATCH_NORM = (
    _HEAD
    + """
class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.BatchNorm1d(features)

    def forward(self, x):
        return F.relu(self.norm(x))


def get_inputs():
    return [torch.rand(24, 10)]


def get_init_inputs():
    return [10]
"""
)

ATTENTION = (
    _HEAD
    + '''
import math


class Model(nn.Module):
    """Causal attention over a few heads, with a mask that is the problem's own."""

    def __init__(self, n_embd, n_head, max_seqlen, pdrop):
        super().__init__()
        self.attn = nn.Linear(n_embd, 3 * n_embd)
        self.drop = nn.Dropout(pdrop)
        self.register_buffer("bias", torch.tril(torch.ones(max_seqlen, max_seqlen)))
        self.n_head = n_head

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.n_head, -1).transpose(1, 2) for t in self.attn(x).chunk(3, 2))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att = att.masked_fill(self.bias[:T, :T] == 0, float("-inf"))
        att = self.drop(F.softmax(att, dim=-1, dtype=torch.float32).to(q.dtype))
        return (att @ v).transpose(1, 2).contiguous().view(B, T, C)


def get_inputs():
    return [torch.rand(2, 5, 8)]


def get_init_inputs():
    return [8, 2, 16, 0.0]
'''
)

SEVERAL_OUTPUTS = (
    _HEAD
    + """
class Model(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.rnn = nn.GRU(size, hidden, batch_first=True)
        self.h0 = torch.randn(1, 3, hidden)

    def forward(self, x):
        output, last = self.rnn(x, self.h0.to(x.device))
        return output, (last, output.argmax(dim=-1))


def get_inputs():
    return [torch.rand(3, 4, 6)]


def get_init_inputs():
    return [6, 5]
"""
)

WHOLE_NUMBERS = (
    _HEAD
    + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        return F.cross_entropy(predictions, targets)


def get_inputs():
    return [torch.rand(32, 7), torch.randint(0, 7, (32,))]


def get_init_inputs():
    return []
"""
)

DEEP = (
    _HEAD
    + """
class Model(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.rand(2, 64)]


def get_init_inputs():
    return [64, 24]
"""
)

MODEL_NEW = (
    _HEAD
    + '''
class ModelNew(nn.Module):
    """The same convolution; the parameters have other names, in the same order."""

    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.factor = nn.Parameter(torch.empty(out_channels, 1, 1))
        self.w = nn.Parameter(torch.empty(out_channels, in_channels, kernel_size, kernel_size))
        self.b = nn.Parameter(torch.empty(out_channels))

    def forward(self, x):
        return F.conv2d(x, self.w, self.b).tanh_().mul_(self.factor)
'''
)

WRONG_NEW = MODEL_NEW.replace(".tanh_()", ".sigmoid_()")
UNLIKE_NEW = MODEL_NEW.replace("(out_channels, 1, 1)", "(out_channels, 2, 1)")

GOOD = {
    "element_wise": ELEMENT_WISE,
    "matmul": MATMUL,
    "convolution": CONVOLUTION,
    "batch_norm": BATCH_NORM,
    "attention": ATTENTION,
    "several_outputs": SEVERAL_OUTPUTS,
    "whole_numbers": WHOLE_NUMBERS,
    "deep": DEEP,
}


def refused(body: str, inputs: str = "[torch.rand(4, 4)]", setup: str = "pass") -> str:
    return (
        f"{_HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        {setup}\n\n    def forward(self, x):\n        {body}\n\n\n"
        f"def get_inputs():\n    return {inputs}\n\n\ndef get_init_inputs():\n    return []\n"
    )


REFUSED = {
    "a dict": (
        refused("return x['a']", "[{'a': torch.rand(2)}]"),
        "input x is a dict: neither a tensor nor a scalar",
    ),
    "data decides the shape": (
        refused("return x[x > 0]"),
        "the shape of the output depends on the data",
    ),
    "dropout": (
        refused("return self.d(x)", setup="self.d = nn.Dropout(0.25)"),
        "dropout in training mode (d, p = 0.25): its answers are random",
    ),
    "random": (
        refused("return x + torch.rand_like(x)"),
        "forward draws random numbers: two calls give two answers",
    ),
    "state": (
        refused("self.n += 1\n        return x * self.n", setup="self.n = 0"),
        "forward keeps a state from call to call: the second call answers otherwise",
    ),
    "in place": (refused("return x.mul_(2)"), "forward writes to its input x"),
    "no tensor back": (
        refused("return {'y': x}"),
        "forward returns a dict, where only tensors can be judged",
    ),
    "complex": (
        refused("return torch.fft.fft(x)"),
        "an output is complex64, a dtype that no task has",
    ),
    "an error": (refused("raise ValueError('not\\nthis')"), "it failed: ValueError: not"),
    "exit": (refused("import os; os._exit(3)"), "running it failed: no message"),
}
