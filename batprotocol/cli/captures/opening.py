"""Runs that are looked at: those of Batsim 5, and for what follows a conversation, those that have its beginning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from batprotocol.capture import Capture
from batprotocol.cli.protocols.batsim5 import BATSIM_5
from batprotocol.cli.protocols.table import protocol_of
from batprotocol.errors import CaptureError

__all__ = ["opened"]


@contextmanager
def opened(path: str, *, from_its_beginning: bool = True) -> Iterator[Capture]:
    """A run of Batsim 5.

    Args:
        path: where it is kept.
        from_its_beginning: whether it must hold the initialization data, with which a conversation begins.

    Raises:
        CaptureError: it is none.
    """
    with Capture(path) as run:
        first = next(iter(run), None)
        if first is not None:
            protocol = protocol_of(first.data)[0]
            if protocol is not BATSIM_5:
                raise CaptureError(f"is of {protocol.name}, and what is looked at this way is of {BATSIM_5.name}", path)
        if from_its_beginning and (first is None or first.kind != "init"):
            raise CaptureError("does not begin with the initialization data, with which a conversation begins", path)
        yield run
