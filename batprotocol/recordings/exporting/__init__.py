"""A capture for other programs: tables of jobs and events, and traces for Perfetto.

`tables` makes the rows, as CSV, Parquet and data frames of pandas. `traces` draws jobs on hosts, counters and messages,
which `perfetto` writes as protobuf and `chrome` as JSON. `formats` lists the formats and the endings of their files,
and writes a file as a whole or not at all. It must not know how captures are kept.
"""

from batprotocol.recordings.exporting.formats import FORMATS as FORMATS
from batprotocol.recordings.exporting.formats import export as export

__all__ = ["FORMATS", "export"]
