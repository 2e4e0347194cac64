"""The store of campaigns: SQLite or PostgreSQL, by SQLAlchemy, which comes with `batprotocol[campaigns]`.

`_engine` is the database with its transactions. `_tables` has the tables, gives unique numbers, and converts rows to
values. `_cycle` reads and writes for a cycle, `_requests` serves the requests of users, and `_store` combines them.
"""

from batprotocol._util.deprecation import old_names
from batprotocol.campaigns.store._store import ClusterEntry, GridStore, OpenCycle

__all__ = ["ClusterEntry", "GridStore", "OpenCycle"]

__getattr__ = old_names(__name__, {"Store": "GridStore", "Where": "ClusterEntry"})
