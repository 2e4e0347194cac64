"""What is kept of runs: one folder, which may be killed at any moment, copied, and merged with another one.

`runs/AB/ABCD...` is the folder of a run, which appears with all its files at once: what is there is whole. `run.json`
in it says all about it, so that the `index`, an SQLite file, can be made anew of the folders at any time. `rows` are
what runs came to, with their `jobs` as Parquet or CSV, and `store` puts all of it together.
"""

from batprotocol.studies.store.rows import Row, Rows
from batprotocol.studies.store.store import Store

__all__ = ["Row", "Rows", "Store"]
