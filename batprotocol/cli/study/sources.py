"""Where results are: in a store, or in that of a study which a file describes."""

from __future__ import annotations

from batprotocol.studies import Rows, read_rows

__all__ = ["rows_in"]


def rows_in(source: str) -> Rows:
    """The rows of a store, or of the runs that a TOML file describes, of those that are there.

    Raises:
        StudyError: there is no such store, or what the file describes cannot be run.
        OSError: a file cannot be read.
    """
    return read_rows(source)
