"""One run of a solution under a tool that watches it: load it, call each row, end.

    python -m assay.runner.once JOB.json

Every tensor is an allocation of its own and of exactly its size, so that an access one element
beyond a tensor is an access beyond an allocation. Inputs hold what the caller put beside the job;
outputs are left as they come, so that reading one before writing it is a read of nothing.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from assay.runner import isolate
from assay.runner.solution import NativeSolution
from assay.runner.solution import PythonSolution
from assay.runner.solution import load

_LONGEST_MESSAGE = 400


class ExactMemory:
    """Allocations by address: where others say how far into one block, this says which block."""

    address = 0

    def __init__(self, device: str) -> None:
        self._device = device
        self._blocks: dict[int, torch.Tensor] = {}

    def allocate(self, spec: dict[str, Any], content: bytes | None) -> int:
        """The address of a new block for one tensor; without content nothing is written to it."""
        block = torch.empty(spec["storage_bytes"], dtype=torch.uint8, device=self._device)
        if content:
            block.copy_(torch.frombuffer(bytearray(content), dtype=torch.uint8))
        address = block.data_ptr()
        self._blocks[address] = block
        return address

    def tensor(self, spec: dict[str, Any], start: int) -> torch.Tensor:
        dtype: torch.dtype = getattr(torch, spec["dtype"])
        if spec["storage_bytes"] == 0:
            return torch.empty(spec["shape"], dtype=dtype, device=self._device)
        whole = self._blocks[start].view(dtype)
        return whole.as_strided(spec["shape"], spec["strides"], spec["offset"])


def placed(row: dict[str, Any], contents: dict[str, bytes], memory: ExactMemory) -> dict[str, Any]:
    """The row with a block for every tensor of every slot; constants have one for all slots."""
    arguments = []
    for argument in row["arguments"]:
        spec, name = argument["tensor"], argument["name"]
        count = 0 if spec is None else 1 if argument["constant"] else row["slots"]
        starts = [memory.allocate(spec, contents.get(name)) for _ in range(count)]
        arguments.append(
            {**argument, "starts": starts * row["slots"] if argument["constant"] else starts}
        )
    return {**row, "arguments": arguments}


def run(job: dict[str, Any], folder: Path) -> int:
    """Call every row once in each of its slots; how many calls that were."""
    device = job["device"]
    stream = None
    if device != "cpu":
        # Not the default stream, as in the judge's runners: a solution must take the one it gets.
        torch.cuda.set_stream(torch.cuda.Stream(device))
        stream = torch.cuda.current_stream().cuda_stream
    solution = load(job["load"], folder / "solution", stream)
    return sum(_call(solution, row, device, folder) for row in job["rows"])


def _call(
    solution: PythonSolution | NativeSolution, row: dict[str, Any], device: str, folder: Path
) -> int:
    memory = ExactMemory(device)
    contents = {name: (folder / file).read_bytes() for name, file in row["contents"].items()}
    request = placed(row["request"], contents, memory)
    calls = solution.bind(request, memory, solution.prepare(request, memory))
    for call in calls:
        call()
    if device != "cpu":
        torch.cuda.synchronize()
    return len(calls)


def main() -> None:
    path = Path(sys.argv[1])
    job = json.loads(path.read_text())
    outcome = path.with_name(job["outcome"])
    isolate.silence()
    isolate.no_new_privileges()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)

    def told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        message = traceback.format_exception_only(error)[-1].strip()[:_LONGEST_MESSAGE]
        outcome.write_text(json.dumps({"failed": message}))

    sys.excepthook = told
    calls = run(job, path.parent)
    outcome.write_text(json.dumps({"calls": calls}))


if __name__ == "__main__":
    main()
