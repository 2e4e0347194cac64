"""Studies: many simulations, each run once, and their results compared.

A study has one or several values for each key: schedulers, workloads and changes of them, platforms, seeds. Every
combination of values is a run. Its name is a hash of everything that decides its result, and it runs once. The data
take this way:

- `keys` defines the keys of a description. `study` makes the runs of a description in TOML or Python. `schedulers`,
  `files` and `naming` find the files that it names, `sources` the modules that a scheduler imports from its folder.
  `changing` decides how the workload of a run changes, `failing` which of its hosts fail, and `electric` which caps and
  traces its policy knows. `runs` defines a run and its name, and `limits` its time and memory.
- `checking` reads each input once, and refuses studies that cannot run.
- `running` gives the runs that are not in the store to an engine (`batprotocol._util.engines`), which calls
  `executing`. `places` opens it. `on_slurm` has workers for it that are jobs of Slurm, and `wheels` and `preparing`
  give them their packages. `executing` makes schedulers, reads `inputs`, simulates (with the embedded or a `real`
  Batsim), records the conversation of runs that fail (`keeping`), and reports in `outcomes` how runs ended.
- `measuring` computes the metrics of runs when they end, or later from their files, with the traces of `powering`.
- `conforming` tests a decision component in many simulations, on the same engines.
- `store` keeps the results, and returns them as rows.
- `loads` has the offered load of each workload. `copies` simulates logs as they were. `comparing` makes tables, plots
  and comparisons of rows from any source. `whatif` finds the changes that another scheduler would have made to a log,
  and reports them. `recorded` compares recordings of a real Slurm with their replays.

It must not know of campaigns.
"""

from batprotocol.errors import StudyError
from batprotocol.studies.keys import KEYS
from batprotocol.studies.loads import WorkloadLoad, loads_of
from batprotocol.studies.measuring import with_groups, with_metrics
from batprotocol.studies.running import Progress, Study, read_rows
from batprotocol.studies.runs import Run
from batprotocol.studies.store import Row, Rows, Store

__all__ = [
    "KEYS",
    "Progress",
    "Row",
    "Rows",
    "Run",
    "Store",
    "Study",
    "StudyError",
    "WorkloadLoad",
    "loads_of",
    "read_rows",
    "with_groups",
    "with_metrics",
]
