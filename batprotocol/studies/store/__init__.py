"""The store of runs: one folder that survives a kill at any moment, and can be copied and merged with another one.

`runs/AB/ABCD...` is the folder of a run. It appears with all its files at once, so it is always complete. Its
`run.json` describes the run, so that the index, an SQLite file, can be made anew from the folders at any time. `rows`
are the results of runs, with their `jobs` as Parquet or CSV. `store` combines all of it.
"""

from batprotocol.studies.store.rows import Row, Rows
from batprotocol.studies.store.store import Store

__all__ = ["Row", "Rows", "Store"]
