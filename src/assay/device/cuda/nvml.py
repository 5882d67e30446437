"""Nvml: what the driver says of its devices. It is asked, and never told: only names that begin
with `nvmlDeviceGet` can be called through here."""

from __future__ import annotations

from typing import Any

from assay.spec.errors import UnavailableError
from assay.spec.errors import quote

# Numbers of the library's C interface.
CLOCK_SM = 1
CLOCK_MEMORY = 2
SENSOR_GPU = 0
ECC_UNCORRECTED = 1
ECC_SINCE_DRIVER_START = 0
ECC_IN_ALL = 1


class Nvml:
    """The library, opened; it stays open until this process ends."""

    def __init__(self) -> None:
        try:
            import pynvml
        except ImportError:
            raise UnavailableError(
                "nvidia-ml-py is not there", next_step="install nvidia-ml-py"
            ) from None
        self._module: Any = pynvml
        try:
            self._module.nvmlInit()
        except self._module.NVMLError as error:
            raise UnavailableError(
                "NVML does not answer", next_step=f"see that nvidia-smi works: {quote(error)}"
            ) from None

    def device(self, what: str, *arguments: Any) -> Any:
        """The answer of one nvmlDeviceGet function, or None where there is none: an older
        package, an older driver, a device that does not know or may not say."""
        function = getattr(self._module, f"nvmlDeviceGet{what}", None)
        if function is None:
            return None
        try:
            return function(*arguments)
        except (self._module.NVMLError, self._module.NVMLLibraryMismatchError):
            return None

    def first_known(self, names: tuple[str, ...], *arguments: Any) -> str:
        """The first of several names of one question that is answered here."""
        answered = (name for name in names if self.device(name, *arguments) is not None)
        return next(answered, names[0])

    def driver(self) -> str | None:
        try:
            return str(self._module.nvmlSystemGetDriverVersion())
        except self._module.NVMLError:
            return None

    def find(self, uuid: str | None, pci_bus_id: str | None) -> Any:
        """The handle of a device, or None. Never by index: NVML counts all devices of the host,
        torch only those that CUDA_VISIBLE_DEVICES shows, and in another order."""
        handle = None
        if uuid is not None:
            handle = self.device("HandleByUUID", uuid)
        if handle is None and pci_bus_id is not None:
            handle = self.device("HandleByPciBusId", pci_bus_id)
        return handle
