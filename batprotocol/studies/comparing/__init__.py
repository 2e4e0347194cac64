"""Results of many runs compared: tables, plots, and what two runs differ in.

`rows` says what is compared; `bootstrap` how sure a mean is. `tables` makes means and differences of them, with
`numbers` as people read them, in `formats` for terminals, papers and notebooks. It knows nothing of how runs are made
or kept.
"""

from batprotocol.studies.comparing.bootstrap import CONFIDENCE, RESAMPLES, interval
from batprotocol.studies.comparing.rows import PlainRow, ResultRow
from batprotocol.studies.comparing.tables import Cell, Table, table

__all__ = ["CONFIDENCE", "RESAMPLES", "Cell", "PlainRow", "ResultRow", "Table", "interval", "table"]
