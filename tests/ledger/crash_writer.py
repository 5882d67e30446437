"""A writer to be killed: for each line of input, a child that appends until it dies.

`python -m tests.ledger.crash_writer FOLDER`; a line of input is a seed and how many rows to write.
Imports are paid once, so that a kill costs milliseconds.
"""

from __future__ import annotations

import os
import random
import sys

from assay.ledger import Ledger
from tests.ledger.making import an_environment
from tests.ledger.making import some_samples


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def write_in_pieces(longest: int) -> None:
    """As a slow disk may: a few bytes a call, so that kills land inside lines and members."""
    pwrite = os.pwrite

    def some_bytes(fd: int, data: memoryview, offset: int) -> int:
        return pwrite(fd, data[:longest], offset)

    os.pwrite = some_bytes  # type: ignore[assignment]


def child(folder: str, seed: int, count: int) -> None:
    chance = random.Random(seed)
    if chance.random() < 0.5:
        write_in_pieces(chance.choice((1, 7, 40)))
    say(f"pid {os.getpid()}")
    with Ledger(folder).writer(an_environment(), rotate_bytes=200_000) as writer:
        for i in range(count):
            samples = some_samples(i) if chance.random() < 0.7 else None
            say(f"row {writer.append('note', {'seed': seed, 'i': i}, samples).id}")


def main() -> None:
    for line in sys.stdin:
        seed, count = map(int, line.split())
        pid = os.fork()
        if pid == 0:
            child(sys.argv[1], seed, count)
            os._exit(0)
        os.waitpid(pid, 0)
        say("end")


if __name__ == "__main__":
    main()
