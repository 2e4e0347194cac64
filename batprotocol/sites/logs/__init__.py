"""Logs of resource managers: what jobs asked for, and when and where they ran, read from the files of a site.

The data take this way: `sources` has the lines of a file, the long arrays of its JSON, and the rows of tables, piece by
piece. A format, which `formats` lists, is a module of `managers`, or a TOML file that names the columns of a published
log, read by `columns`. It makes `LoggedJob` values (`jobs`) of the rows, and counts the rows that it skips. Everything
else works on these values and does not know where they come from.

- `formats` finds the format of a file, and reads its jobs as often as they are needed. `imports` limits logs to a
  period, replaces names, and makes a workload and a platform.
- `surveys` is a first look at a whole log. `platforms` has the hosts of a site. `workloads` makes a workload of a log,
  with requests of its jobs. `windows` has the hosts that a log shows down or lent, `outages` published failures.
- `tables` writes logged jobs, and reads them again. `checking` compares a log with a simulation.
"""

from __future__ import annotations

from batprotocol._util.deprecation import old_names
from batprotocol._util.tables import LeftOut, Reason
from batprotocol.sites.logs.jobs import Attempt, AttemptState, LoggedJob

__all__ = ["Attempt", "AttemptState", "LeftOut", "LoggedJob", "Reason"]

__getattr__ = old_names(__name__, {"JobState": "AttemptState"})
