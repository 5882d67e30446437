"""What a device is. Modules here without a leading underscore may define `open_device`."""

from assay.device._base import Device
from assay.device._base import Process
from assay.device._base import Reading
from assay.device._find import device_names
from assay.device._find import open_device
from assay.device._find import open_judging_device

__all__ = ["Device", "Process", "Reading", "device_names", "open_device", "open_judging_device"]
