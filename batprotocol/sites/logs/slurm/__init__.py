"""Slurm's accounting: what sacct and the completion plugin jobcomp/filetxt write.

The data take this way: `columns` divides the lines of sacct's text, `records` takes the elements of the JSON one by
one, and `completions` the lines of jobcomp/filetxt. Each has rows of texts, named like sacct's fields. `rows` makes
a job with one attempt of each row, with `times`, `amounts`, `states`, `ids` and `submissions`. `attempts` puts the rows
of a job together. `text` runs all of this for sacct's text.
"""

from __future__ import annotations

from batprotocol.sites.logs.slurm.completions import read_jobcomp
from batprotocol.sites.logs.slurm.records import read_sacct_json
from batprotocol.sites.logs.slurm.text import read_sacct

__all__ = ["read_jobcomp", "read_sacct", "read_sacct_json"]
