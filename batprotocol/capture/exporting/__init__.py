"""What is in a capture, for other programs: tables of jobs and events, and a trace for Perfetto.

`tables` has the rows, as CSV, Parquet and data frames of pandas; `perfetto` draws jobs on hosts, counters and messages;
`formats` lists what there is, and writes a file whole or not at all. It must not know how captures are kept.
"""

from batprotocol.capture.exporting.formats import FORMATS as FORMATS
from batprotocol.capture.exporting.formats import export as export

__all__ = ["FORMATS", "export"]
