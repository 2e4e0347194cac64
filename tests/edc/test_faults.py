"""Whose fault an exception is: it is the files of its traceback that tell."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import batprotocol
from batprotocol.edc.scheduler import show_own

WITHOUT_ENGINE = True

OURS = (
    str(Path(batprotocol.__file__).parent / "edc" / "session.py"),
    "batprotocol/conversation/jobs.py",  # what mypyc calls the files of compiled modules
    logging.__file__,
    "<frozen importlib._bootstrap>",
)


def raised(file: str) -> Exception:
    """An error that was raised in this file, and nowhere else."""
    with pytest.raises(ValueError, match="wrong") as caught:
        exec(compile("raise ValueError('wrong')", file, "exec"))
    trace = caught.tb
    while trace.tb_frame.f_code.co_filename != file:
        assert trace.tb_next is not None
        trace = trace.tb_next
    return caught.value.with_traceback(trace)


@pytest.mark.parametrize("file", OURS)
def test_what_the_library_raises_is_no_fault_of_a_scheduler(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_own(raised(file), "fcfs.py:FCFS") is None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("file", ["fcfs.py", "/home/x/fcfs.py", "/x/batprotocol/fcfs.py", "/x/site-packages/y.py"])
def test_what_is_raised_elsewhere_is_shown(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_own(raised(file), "fcfs.py:FCFS") == "the scheduler fcfs.py:FCFS ended with a ValueError"
    assert capsys.readouterr().err.startswith(f'Traceback (most recent call last):\n  File "{file}", line 1')
