"""Tables of published logs as logged jobs, by a file that names the columns (TOML).

`mapping` reads such a file: for each value of a job, the column and its kind. `values` reads the values of a kind,
`places` finds them in rows and in objects of JSON, and `reading` makes jobs of rows. `ready` has the mappings of some
published logs.
"""

from __future__ import annotations

from batprotocol.sites.logs.columns.mapping import Mapping, read_mapping
from batprotocol.sites.logs.columns.reading import read_by

__all__ = ["Mapping", "read_by", "read_mapping"]
