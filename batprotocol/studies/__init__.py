"""Studies: many simulations, each run once, and their results compared.

A study has one or several values for each key: schedulers, workloads and changes of them, platforms, seeds. Every
combination of values is a run. Its name is a hash of everything that decides its result, and it runs once. The data
take this way:

- `keys` defines the keys of a description. `_description` makes the `runs` of a description in TOML or Python.
  `sources` finds the files, schedulers, metrics and traces that it names.
- `_inputs` decides how the inputs of a run differ from these, reads each once, and refuses studies that cannot run.
- `execution` gives the runs that are not in the store to an engine: processes, Dask, or `_slurm_workers`, whose
  nodes `_preparation` gives their packages. There, `_simulation` executes a run, with the embedded or a real Batsim. It
  keeps the conversation of runs that fail.
- `_measurement` computes metrics when runs end, or later from their files. It also has the offered load of each
  workload.
- `store` keeps the results, and returns them as `rows`. `comparing` makes tables, plots and comparisons of rows from
  any source.
- `whatif` finds the changes that another scheduler would have made to a log, and reports them. `recorded` compares
  `slurm_recordings`, those of a real Slurm, with their replays; `slurm_moments` finds when its loops ran. `conformance`
  tests a decision component in many simulations.
- `commands` has the commands `study`, `whatif` and `compare`.
"""

from batprotocol.errors import StudyError
from batprotocol.studies._measurement import WorkloadLoad, loads_of, with_groups, with_metrics
from batprotocol.studies.execution import Progress, Study, read_rows
from batprotocol.studies.keys import KEYS
from batprotocol.studies.rows import Row, Rows
from batprotocol.studies.runs import Run
from batprotocol.studies.store import Store

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
