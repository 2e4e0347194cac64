"""Questions about a log: its simulations with other policies or machines, and a report of what would change.

`question` has what is asked, and the windows of the log. `plan` makes a study of it: all combinations of policies,
arrivals, hosts and estimates. After the runs, `batches` cuts them into windows. `conclusions` compares two runs, and
tries each difference again under other conditions. `answers` combines all differences, with the assumptions on which
they rest. `report` makes one page of HTML of this.
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
