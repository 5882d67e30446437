"""Frames: length-prefixed JSON over a socket, with descriptors beside it where needed.

What a runner sends is foreign: a frame is bounded in length, must be one JSON object, and its
fields are read one by one by whoever asked.
"""

from __future__ import annotations

import array
import json
import socket
import struct
from typing import Any

_HEADER = struct.Struct("<I")
LONGEST = 96 << 20
MOST_DESCRIPTORS = 16


class FrameError(Exception):
    """The other side closed, or sent what is no frame."""


def send(
    connection: socket.socket, message: dict[str, Any], descriptors: tuple[int, ...] = ()
) -> None:
    """One message in one write, so that two senders on one socket do not mix their frames."""
    data = json.dumps(message).encode()
    if len(data) > LONGEST:
        raise FrameError(f"a frame of {len(data)} bytes")
    whole = _HEADER.pack(len(data)) + data
    sent = 0
    if descriptors:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors).tobytes())
        sent = connection.sendmsg([whole], [rights])
    connection.sendall(whole[sent:])


def receive(connection: socket.socket) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The next message and the descriptors that came with it; honours the socket's timeout."""
    header, descriptors = _header(connection)
    (length,) = _HEADER.unpack(header)
    if length > LONGEST:
        raise FrameError(f"a frame of {length} bytes")
    try:
        message = json.loads(_exactly(connection, length))
    except (ValueError, RecursionError):
        raise FrameError("a frame that is not JSON") from None
    if not isinstance(message, dict):
        raise FrameError("a frame that is not an object")
    return message, descriptors


def _header(connection: socket.socket) -> tuple[bytes, tuple[int, ...]]:
    room = socket.CMSG_SPACE(MOST_DESCRIPTORS * 4)
    data, ancillary, _, _ = connection.recvmsg(_HEADER.size, room)
    if not data:
        raise FrameError("closed")
    descriptors = array.array("i")
    for level, kind, rights in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(rights[: len(rights) - len(rights) % 4])
    return data + _exactly(connection, _HEADER.size - len(data)), tuple(descriptors)


def _exactly(connection: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(min(length - len(parts), 1 << 20))
        if not part:
            raise FrameError("closed")
        parts += part
    return bytes(parts)
