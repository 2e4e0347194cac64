"""Questions about a log: a study of its windows with other policies or machines, and a report of what would change.

`question` has what is asked, `logs` makes files of the log, and `plan` makes a study of it: the `windows` of the log,
and all combinations of policies, arrivals, hosts (`machines`) and estimates. `toml` writes the study as a file. After
the runs, `batches` cuts them into windows, `answers` compares each combination with the baseline, `conclusions` tries
each difference again under other conditions, and `groups` finds out who gains and who loses.
`assumptions` says what the answer rests on. `report` makes one page of HTML of all this, with the figures of `figures`.
The package must not know how runs are made.
"""

from batprotocol.studies.whatif.answers import Answer, answer_of
from batprotocol.studies.whatif.plan import Plan, ReadyLog, plan_for, ready_log, study_toml
from batprotocol.studies.whatif.question import Question, parse_nodes
from batprotocol.studies.whatif.report import page

__all__ = [
    "Answer",
    "Plan",
    "Question",
    "ReadyLog",
    "answer_of",
    "page",
    "parse_nodes",
    "plan_for",
    "ready_log",
    "study_toml",
]
