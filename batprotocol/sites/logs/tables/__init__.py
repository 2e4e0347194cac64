"""Logged jobs as tables, Parquet or CSV: written in row groups, and read again equal.

`columns` has the columns of these tables, one row for each attempt of a job. `writing` and `reading` use them. `rows`
reads the rows of any table: CSV, Parquet, JSON. Parquet needs the package `pyarrow`, which comes with
`batprotocol[tables]`, and is imported when it is used.
"""

from __future__ import annotations

from batprotocol.sites.logs.tables.reading import read_table
from batprotocol.sites.logs.tables.writing import write_table

__all__ = ["read_table", "write_table"]
