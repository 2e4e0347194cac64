"""Decision components that are not Python objects of this process: at a ZeroMQ endpoint, or in a shared library.

For the simulator, both have `hello` and `answer`, with messages as values. A library runs inside this process: if it
crashes, Python crashes, too.
"""

from __future__ import annotations

import _ctypes
import ctypes
import os
from types import TracebackType
from typing import Any

from batprotocol._util.sockets import LARGEST, Requester
from batprotocol.errors import DecodeError, PeerGone
from batprotocol.model import Message
from batprotocol.wire import FORMATS, frames

__all__ = [
    "LibraryComponent",
    "RawLibrary",
    "RemoteComponent",
    "connect",
    "load_library",
]


class RemoteComponent(Requester):
    """A decision component that listens at an endpoint. Use it in a `with`, which closes the connection.

    Args:
        endpoint: the endpoint, such as `tcp://127.0.0.1:28000` or `ipc:///tmp/edc.sock`. The component may begin to
            listen later.
        timeout: the maximum number of seconds to wait for each answer; None: no limit, as in Batsim.

    Raises:
        OSError: this is not an endpoint.
    """

    _format = FORMATS["binary"]

    def hello(self, text: str) -> Message:
        """Send the initialization data, and return the hello. The hello determines the format of the conversation.

        Raises:
            DecodeError: the answer is not a hello.
            PeerGone, PeerSilent: there is no answer.
        """
        found = frames.decode_hello(self.exchange(frames.encode_init(text)))
        self._format = FORMATS[found.format]
        return found.message

    def answer(self, message: Message) -> Message:
        """Send a message, and return the reply.

        Raises:
            DecodeError: the answer is not a message.
            PeerGone, PeerSilent: there is no answer.
        """
        reply: Message = self._format.decode(self.exchange(self._format.encode(message)))
        return reply


def connect(endpoint: str, *, timeout: float | None = None) -> RemoteComponent:
    """Connect to the decision component at an endpoint. Pass the result to `simulate`.

    Args:
        endpoint: the endpoint, such as `tcp://127.0.0.1:28000` or `ipc:///tmp/edc.sock`. The component may begin to
            listen later.
        timeout: the maximum number of seconds to wait for each answer; None: no limit, as in Batsim.

    Raises:
        OSError: this is not an endpoint.
    """
    return RemoteComponent(endpoint, timeout=timeout)


# Shared libraries


_BYTES = ctypes.POINTER(ctypes.c_uint8)
_SIZE = ctypes.c_uint32
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "batsim_edc_init": (
        ctypes.c_char_p,
        _SIZE,
        ctypes.POINTER(_SIZE),
        ctypes.POINTER(_BYTES),
        ctypes.POINTER(_SIZE),
    ),
    "batsim_edc_take_decisions": (ctypes.c_char_p, _SIZE, ctypes.POINTER(_BYTES), ctypes.POINTER(_SIZE)),
    "batsim_edc_deinit": (),
}
_MODE = getattr(os, "RTLD_NOW", 0) | getattr(os, "RTLD_LOCAL", 0) | getattr(os, "RTLD_DEEPBIND", 0)


class RawLibrary:
    """A decision component in a shared library, as bytes. Use it in a `with`, which ends and unloads it.

    Args:
        path: the library.

    Raises:
        OSError: it cannot be loaded, or is not a decision component.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)
        self._begun = False
        try:
            self._library: ctypes.CDLL | None = ctypes.CDLL(self.path, mode=_MODE)
        except OSError as error:
            raise OSError(error.errno or 0, f"it cannot be loaded: {error}", self.path) from None
        for name, arguments in _FUNCTIONS.items():
            function = getattr(self._library, name, None)
            if function is None:
                self.close()
                raise OSError(0, f"it is not a decision component: it has no function {name}", self.path)
            function.argtypes = arguments
            function.restype = ctypes.c_uint8

    def begin(self, data: bytes) -> bytes:
        """Pass the initialization data, and return the frame of message 1.

        Raises:
            DecodeError: there is no reply.
            PeerGone: the library reported a failure.
        """
        flags = _SIZE(0)
        reply = self._call("batsim_edc_init", data, ctypes.byref(flags))
        self._begun = True
        return flags.value.to_bytes(4, "little") + reply

    def decide(self, data: bytes) -> bytes:
        """Pass a message, and return the reply. It raises the same exceptions as `begin`."""
        return self._call("batsim_edc_take_decisions", data)

    def _call(self, name: str, data: bytes, *more: Any) -> bytes:
        if self._library is None:
            raise PeerGone(f"the library {self.path} is closed")
        reply, size = _BYTES(), _SIZE(0)
        status = getattr(self._library, name)(data, len(data), *more, ctypes.byref(reply), ctypes.byref(size))
        if status:
            raise PeerGone(f"{name} of {self.path} failed: it returned {status}")
        if not reply:
            raise DecodeError(f"{name} of {self.path} returned no reply")
        if size.value > LARGEST:
            raise DecodeError(
                f"{name} of {self.path} returned {size.value:,} bytes, but a message has at most {LARGEST:,}"
            )
        return ctypes.string_at(reply, size.value)  # a copy: the library owns the buffer until the next call

    def close(self) -> None:
        """End and unload it."""
        library, self._library = self._library, None
        if library is not None:
            if self._begun:
                library.batsim_edc_deinit()
            if hasattr(_ctypes, "dlclose"):
                _ctypes.dlclose(library._handle)

    def __enter__(self) -> RawLibrary:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class LibraryComponent(RawLibrary):
    """A decision component in a shared library, as values. Use it in a `with`, which ends and unloads it.

    Args:
        path: the library.
        init: initialization data in place of those of the simulation, or None.

    Raises:
        OSError: it cannot be loaded, or is not a decision component.
    """

    def __init__(self, path: str | os.PathLike[str], init: str | None = None) -> None:
        super().__init__(path)
        self._init = init
        self._format = FORMATS["binary"]

    def hello(self, text: str) -> Message:
        """Send the initialization data, and return the hello. The hello determines the format of the conversation.

        Raises:
            DecodeError: the answer is not a hello.
            PeerGone: the library reported a failure.
        """
        data = (text if self._init is None else self._init).encode("utf-8", "surrogateescape")
        found = frames.decode_hello(self.begin(data))
        self._format = FORMATS[found.format]
        return found.message

    def answer(self, message: Message) -> Message:
        """Send a message, and return the reply.

        Raises:
            DecodeError: the answer is not a message.
            PeerGone: the library reported a failure.
        """
        reply: Message = self._format.decode(self.decide(self._format.encode(message)))
        return reply

    def __enter__(self) -> LibraryComponent:
        return self


def load_library(path: str | os.PathLike[str], init: str | None = None) -> LibraryComponent:
    """Load a decision component from a shared library. Pass the result to `simulate`.

    Args:
        path: the library.
        init: initialization data in place of those of the simulation, or None.

    Raises:
        OSError: it cannot be loaded, or is not a decision component.
    """
    return LibraryComponent(path, init)
