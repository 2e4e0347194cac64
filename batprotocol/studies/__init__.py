"""Studies: many simulations, compared as a paper would.

A study is a value for each key, or several: schedulers, workloads and what is made of them, platforms, seeds. Every
combination is a run, which is named by a hash of all that decides what comes of it, and runs once. The data take this
way through it:

- `keys` says what can be described, and `study` makes runs of a description in TOML or Python. `schedulers`, `files`
  and `naming` find what it names, `sources` what a scheduler imports from beside it, and `runs` has what a run is and
  its name.
- `checking` reads each input once, and refuses what cannot run.
- `running` gives what is not there yet to an engine (`batprotocol.engines`), where `executing` is what runs: it makes
  schedulers, reads `inputs`, simulates itself or with a `real` Batsim, keeps what is said in runs that fail
  (`keeping`), and reports in `outcomes` how they ended.
- `measuring` computes the metrics of runs, as they end, or later of what is kept of them.
- `store` keeps their results, and gives them back as rows.
- `comparing` makes tables, plots and comparisons of rows, wherever these come from.

It must not know of campaigns.
"""

from batprotocol.studies.keys import KEYS
from batprotocol.studies.measuring import with_metrics
from batprotocol.studies.running import Progress, Study, read_rows
from batprotocol.studies.runs import Run
from batprotocol.studies.store import Row, Rows, Store

__all__ = ["KEYS", "Progress", "Row", "Rows", "Run", "Store", "Study", "read_rows", "with_metrics"]
