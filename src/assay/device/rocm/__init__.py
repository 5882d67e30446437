"""The rocm device: AMD GPUs, through the code of the cuda device.

torch's ROCm build answers the same calls under the same names. Nobody has yet run this on an AMD
GPU: the device's name and every verdict from it say so.
"""

from __future__ import annotations

from assay.device.cuda import CudaDevice
from assay.spec.environment import DeviceIdentity

__all__ = ["UNPROVEN", "RocmDevice", "open_device"]

UNPROVEN = "unproven: never run on AMD hardware"


class RocmDevice(CudaDevice):
    def __init__(self, index: int = 0, *, isolate: bool = True) -> None:
        super().__init__(index, rocm=True, isolate=isolate)

    @property
    def identity(self) -> DeviceIdentity:
        known = super().identity
        name = f"{known.name}, {self.properties.arch} ({UNPROVEN})"
        return DeviceIdentity(**{**dict(known), "name": name})

    @property
    def labels(self) -> tuple[str, ...]:
        return (*super().labels, UNPROVEN)


def open_device(index: int) -> RocmDevice:
    return RocmDevice(index)
