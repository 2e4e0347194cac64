"""The store of campaigns: SQLite or PostgreSQL, by SQLAlchemy, which comes with `batprotocol[campaigns]`.

`engine` is the database with its transactions, `tables` has the tables, `numbers` gives unique numbers, and `rows`
converts rows to values. `cycle` writes and `reading` reads for a cycle, `users` serves the requests of users, and
`store` combines them.
"""

from batprotocol.campaigns.store._store import OpenCycle, Store, Where

__all__ = ["OpenCycle", "Store", "Where"]
