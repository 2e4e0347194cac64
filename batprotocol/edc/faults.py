"""Whose fault an exception is: the scheduler's, whose author is shown where, or not.

It must not know what a scheduler does, nor what becomes of the program.
"""

from __future__ import annotations

import logging
import sys
import traceback
from pathlib import Path
from types import TracebackType

import batprotocol
from batprotocol.edc.moments import how_to_look, moment_of

__all__ = ["show_own"]

_PACKAGE = Path(batprotocol.__file__).parent
_COMPILED = "batprotocol/"
"""What the files of compiled modules are called: as they were when they were compiled."""
_STANDARD = Path(logging.__file__).parent.parent
"""Where Python's own library is: what it raises when we call it is no fault of a scheduler."""


def show_own(error: BaseException, target: str, record: str | None = None) -> str | None:
    """Print what a scheduler's own code raised as Python shows it, from its first line on.

    Args:
        error: what was raised.
        target: the scheduler, as its user names it.
        record: where the simulation was recorded, or None.

    Returns:
        A sentence that names the scheduler, tells when it was and how to look at that, to be printed behind it; None,
        with nothing printed, if it was not the scheduler's own code.
    """
    own = _own_part(error.__traceback__)
    if own is None and not isinstance(error, SyntaxError):
        return None
    traceback.print_exception(type(error), error, own)
    sentence = f"the scheduler {target} ended with {_with_article(type(error).__name__)}"
    moment = moment_of(error)
    return sentence if moment is None else f"{sentence} {moment}; {how_to_look(moment, record, '--record run.tar.xz')}"


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame on that is the scheduler's, None where there is no such frame."""
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(filename: str) -> bool:
    if filename.startswith(("<frozen ", _COMPILED)):
        return True
    folders = Path(filename).parents
    is_standard = _STANDARD in folders and not {"site-packages", "dist-packages"} & set(Path(filename).parts)
    zmq = getattr(sys.modules.get("zmq"), "__file__", None)  # which only those have imported who use a socket
    return is_standard or _PACKAGE in folders or (zmq is not None and Path(zmq).parent in folders)


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
