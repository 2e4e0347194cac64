"""The store of campaigns: SQLite or PostgreSQL, by SQLAlchemy, which comes with `batprotocol[campaigns]`.

`_engine` is the database with its transactions. `_tables` has the tables, gives unique numbers, and converts rows to
values. `_cycle` reads and writes for a cycle, `_requests` serves the requests of users, and `_store` combines them.
"""

from batprotocol.campaigns.store._store import OpenCycle, Store, Where

__all__ = ["OpenCycle", "Store", "Where"]
