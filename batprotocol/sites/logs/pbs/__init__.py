"""The accounting records of PBS Pro, OpenPBS and Torque, the files `server_priv/accounting/YYYYMMDD`.

`reading` puts the records of a job together, with `jobs`, which makes a job of the values of a record. `records`
divides lines and values, and `resources` reads amounts.
"""

from __future__ import annotations

from batprotocol.sites.logs.pbs.reading import read_pbs

__all__ = ["read_pbs"]
