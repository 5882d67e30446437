"""Device memory that crosses between processes: allocated by one, mapped by another.

The driver's virtual-memory calls give a plain file descriptor for an allocation. It travels like
any other descriptor, it needs no shared /proc, and it opens that allocation and nothing beside it
(a CUDA IPC handle opens the whole block that the allocator carved it from).

ROCm has the same calls under other names, so one table serves both; only CUDA has been tried.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

_PINNED = 1
_POSIX_DESCRIPTOR = 1
_ON_DEVICE = 1
_READ_WRITE = 3
_HOST, _DEVICE = 1, 2


class DriverError(Exception):
    """A driver call that failed, with what the driver calls it."""


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class _Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


class _Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D."""

    _fields_ = [
        ("source_x", ctypes.c_size_t),
        ("source_y", ctypes.c_size_t),
        ("source_type", ctypes.c_int),
        ("source_host", ctypes.c_void_p),
        ("source_device", ctypes.c_ulonglong),
        ("source_array", ctypes.c_void_p),
        ("source_pitch", ctypes.c_size_t),
        ("target_x", ctypes.c_size_t),
        ("target_y", ctypes.c_size_t),
        ("target_type", ctypes.c_int),
        ("target_host", ctypes.c_void_p),
        ("target_device", ctypes.c_ulonglong),
        ("target_array", ctypes.c_void_p),
        ("target_pitch", ctypes.c_size_t),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    ]


@dataclass(frozen=True)
class Mapped:
    """An allocation as this process sees it."""

    address: int
    size: int
    handle: int


class Driver:
    """The few driver calls that are needed, on one device whose context is current."""

    def __init__(self, index: int, *, rocm: bool = False) -> None:
        self.index = index
        self._library = ctypes.CDLL("libamdhip64.so" if rocm else "libcuda.so.1")
        self._prefix = "hip" if rocm else "cu"

    def call(self, name: str, *arguments: object) -> None:
        """One driver call by its name without prefix; raises on any status but success."""
        status = getattr(self._library, self._prefix + name)(*arguments)
        if status:
            raise DriverError(f"{self._prefix}{name} failed with {self._error_name(status)}")

    def _error_name(self, status: int) -> str:
        if self._prefix != "cu":
            return f"error {status}"
        text = ctypes.c_char_p()
        self._library.cuGetErrorName(status, ctypes.byref(text))
        return f"{(text.value or b'error').decode()} ({status})"

    def _properties(self) -> _Properties:
        return _Properties(_PINNED, _POSIX_DESCRIPTOR, _Location(_ON_DEVICE, self.index), None)

    def read_lines(self, target: int, source: int, width: int, pitch: int, count: int) -> None:
        """Lines of device memory, one every `pitch` bytes, one after another on the host."""
        copy = _Copy2D(
            source_type=_DEVICE,
            source_device=source,
            source_pitch=pitch,
            target_type=_HOST,
            target_host=target,
            target_pitch=width,
            width=width,
            height=count,
        )
        self.call("Memcpy2D_v2", ctypes.byref(copy))

    def write_lines(
        self, target: int, source: int, width: int, pitch: int, count: int, stream: ctypes.c_void_p
    ) -> None:
        """Lines of the host, one every `pitch` bytes, one after another in device memory."""
        copy = _Copy2D(
            source_type=_HOST,
            source_host=source,
            source_pitch=pitch,
            target_type=_DEVICE,
            target_device=target,
            target_pitch=width,
            width=width,
            height=count,
        )
        self.call("Memcpy2DAsync_v2", ctypes.byref(copy), stream)

    def granularity(self) -> int:
        """Allocations are whole multiples of this."""
        size = ctypes.c_size_t()
        self.call(
            "MemGetAllocationGranularity",
            ctypes.byref(size),
            ctypes.byref(self._properties()),
            ctypes.c_int(0),
        )
        return size.value

    def allocate(self, size: int) -> tuple[Mapped, int]:
        """New memory, mapped here, and a descriptor of it for another process."""
        unit = self.granularity()
        size = -(-size // unit) * unit
        handle = ctypes.c_ulonglong()
        self.call(
            "MemCreate",
            ctypes.byref(handle),
            ctypes.c_size_t(size),
            ctypes.byref(self._properties()),
            ctypes.c_ulonglong(0),
        )
        descriptor = ctypes.c_int()
        self.call(
            "MemExportToShareableHandle",
            ctypes.byref(descriptor),
            handle,
            ctypes.c_int(_POSIX_DESCRIPTOR),
            ctypes.c_ulonglong(0),
        )
        os.set_inheritable(descriptor.value, False)
        return self._map(handle.value, size), descriptor.value

    def import_memory(self, descriptor: int, size: int) -> Mapped:
        """Memory of another process, mapped here."""
        handle = ctypes.c_ulonglong()
        self.call(
            "MemImportFromShareableHandle",
            ctypes.byref(handle),
            ctypes.c_void_p(descriptor),
            ctypes.c_int(_POSIX_DESCRIPTOR),
        )
        return self._map(handle.value, size)

    def _map(self, handle: int, size: int) -> Mapped:
        address = ctypes.c_ulonglong()
        self.call(
            "MemAddressReserve",
            ctypes.byref(address),
            ctypes.c_size_t(size),
            ctypes.c_size_t(0),
            ctypes.c_ulonglong(0),
            ctypes.c_ulonglong(0),
        )
        self.call(
            "MemMap",
            address,
            ctypes.c_size_t(size),
            ctypes.c_size_t(0),
            ctypes.c_ulonglong(handle),
            ctypes.c_ulonglong(0),
        )
        access = _Access(_Location(_ON_DEVICE, self.index), _READ_WRITE)
        self.call(
            "MemSetAccess",
            address,
            ctypes.c_size_t(size),
            ctypes.byref(access),
            ctypes.c_size_t(1),
        )
        return Mapped(address.value, size, handle)

    def release(self, memory: Mapped) -> None:
        """Unmap and let go; the memory itself goes when its last holder does."""
        address, size = ctypes.c_ulonglong(memory.address), ctypes.c_size_t(memory.size)
        self.call("MemUnmap", address, size)
        self.call("MemAddressFree", address, size)
        self.call("MemRelease", ctypes.c_ulonglong(memory.handle))
