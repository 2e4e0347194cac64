"""The store of campaigns: SQLite or PostgreSQL, by SQLAlchemy, which comes with `batprotocol[campaigns]`.

`engine` (the database and its transactions) carries the `tables`; `numbers` are given once; `rows` become values.
`cycle` and `reading` are what a cycle writes and reads, `users` what users ask for, and `store` is all of it together.
"""

from batprotocol.campaigns.store.store import OpenCycle, Store, Where

__all__ = ["OpenCycle", "Store", "Where"]
