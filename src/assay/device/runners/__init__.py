"""What every device that judges has in common: runners, their memory, and the turns they take.

A device owns the memory and the clock; a runner maps the one and never sees the other. What is
particular to a kind of device (how memory is shared, what disturbs a batch, which toolchain it
needs) lies in that device's own folder.
"""

from assay.device.runners.content import RowSource
from assay.device.runners.device import RunnerDevice
from assay.device.runners.process import RunnerProcess
from assay.device.runners.program import Program
from assay.device.runners.session import Exam
from assay.device.runners.session import KeptCall
from assay.device.runners.target import Target

__all__ = ["Exam", "KeptCall", "Program", "RowSource", "RunnerDevice", "RunnerProcess", "Target"]
