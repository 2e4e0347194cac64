"""Questions about a log: its simulations with other policies or machines, and a report of what would change.

`_question` has what is asked, and the windows of the log. `_plan` makes a study of it: all combinations of policies,
arrivals, hosts and estimates. After the runs, `_batches` cuts them into windows. `_conclusions` compares two runs, and
tries each difference again under other conditions. `_answers` combines all differences, with the assumptions on which
they rest. `_report` makes one page of HTML of this.
"""

from batprotocol.studies.whatif._answers import Answer, answer_of
from batprotocol.studies.whatif._plan import Plan, ReadyLog, plan_for, ready_log, study_toml
from batprotocol.studies.whatif._question import Question, parse_nodes
from batprotocol.studies.whatif._report import page

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
