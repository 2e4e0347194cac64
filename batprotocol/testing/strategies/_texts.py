"""Strategies for texts and for the names of things."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol.testing.strategies._common import cycled, mostly

__all__ = ["job_ids", "profile_ids", "texts"]

_AWKWARD_TEXTS = (
    *("", "\x00", "a\x00b", "\x00\x00", '"', "'", "\\", '\\"', "\\u0041", "\\x00", "\n\r\t\b\f", "\x01\x1b\x7f\x80"),
    *("é", "e\u0301", "Grenoble été", "日本語", "\u0436\u05d0\u0639", "😀", "\U0010ffff", "\ud7ff\ue000", "\uffff"),
    *("\ufeff", "\u2028\u2029", "\u202e", " ", " a ", "null", "NONE", "0", "{}", "[1,", "/* */", "// a", "%s", "a,b"),
)
_AWKWARD_IDS = ("w0!é", "ŵ!日本", "😀!😀", "!", "w0!", "!1", "w0!1!2", "w0", "w0! 1", "w0!\x00", 'w"0"!1', "w0!\\1")


def texts() -> SearchStrategy[str]:
    """Any text that UTF-8 can hold.

    Empty, with NUL, quotes, backslashes, control characters, non-ASCII and astral characters, and now and then up to
    2000 characters long. Never a lone surrogate, for which UTF-8 has no bytes.
    """
    few = st.one_of(st.sampled_from(_AWKWARD_TEXTS), st.text(max_size=12))
    long = st.builds(cycled, st.text(min_size=1, max_size=3), st.integers(0, 2000)).map("".join)
    return mostly(few, long, one_in=24)


def job_ids() -> SearchStrategy[str]:
    """Names of jobs: two in three are `workload!job`, the others any text at all."""
    return _ids(few_job_ids())


def profile_ids() -> SearchStrategy[str]:
    """Names of profiles: two in three are `workload!name` or a bare `name`, the others any text at all."""
    return _ids(st.sampled_from(("w0!delay10", "w0!ptask", "w1!seq", "delay10")))


def probe_ids() -> SearchStrategy[str]:
    """Names of probes."""
    return names("probe0", "power")


def call_ids() -> SearchStrategy[str]:
    """Names of calls."""
    return names("call0", "every minute")


def few_job_ids() -> SearchStrategy[str]:
    """A thousand usual names of jobs: quick to make."""
    return st.integers(0, 999).map("w0!{}".format)


def _ids(usual: SearchStrategy[str]) -> SearchStrategy[str]:
    return mostly(usual, st.one_of(st.sampled_from(_AWKWARD_IDS), texts()), one_in=3)


def names(*usual: str) -> SearchStrategy[str]:
    """Two in three are one of these, the others any text at all."""
    return mostly(st.sampled_from(usual), texts(), one_in=3)
