"""Finds out whether the code of a scheduler raised an exception, and shows its author the place.

This module must not know what a scheduler does, nor how the program goes on.
"""

from __future__ import annotations

import logging
import sys
import traceback
from pathlib import Path
from types import TracebackType

import batprotocol
from batprotocol.edc.moments import inspection_hint, moment_of

__all__ = ["show_own"]

_PACKAGE = Path(batprotocol.__file__).parent
_COMPILED = "batprotocol/"
"""The beginning of the file names in tracebacks of compiled modules: the path at compile time."""
_STANDARD = Path(logging.__file__).parent.parent
"""The folder of Python's standard library. Exceptions that it raises for our calls are not a scheduler's fault."""


def show_own(error: BaseException, target: str, record: str | None = None) -> str | None:
    """Print the traceback of an exception that the code of a scheduler raised, from the first line of that code on.

    Args:
        error: the exception.
        target: the scheduler, as its user names it.
        record: the recording of the simulation, or None.

    Returns:
        A sentence to print after the traceback. It names the scheduler and the time, and says how to inspect the
        message. None, with nothing printed, if other code raised the exception.
    """
    own = _own_part(error.__traceback__)
    if own is None and not isinstance(error, SyntaxError):
        return None
    traceback.print_exception(type(error), error, own)
    sentence = f"the scheduler {target} ended with {_with_article(type(error).__name__)}"
    moment = moment_of(error)
    if moment is None:
        return sentence
    return f"{sentence} {moment}; {inspection_hint(moment, record, '--record run.tar.xz')}"


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame of the scheduler's code on; None where there is no such frame."""
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(filename: str) -> bool:
    if filename.startswith(("<frozen ", _COMPILED)):
        return True
    folders = Path(filename).parents
    is_standard = _STANDARD in folders and not {"site-packages", "dist-packages"} & set(Path(filename).parts)
    zmq = getattr(sys.modules.get("zmq"), "__file__", None)  # imported only where there is a socket
    return is_standard or _PACKAGE in folders or (zmq is not None and Path(zmq).parent in folders)


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
