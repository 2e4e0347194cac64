"""Questions about a log: its simulations with other policies or machines, and a report of what would change.

`_question` has what is asked, and the windows of the log. `_plan` makes a study of it: all combinations of policies,
arrivals, hosts and estimates. After the runs, `_batches` cuts them into windows. `_conclusions` compares two runs, and
tries each difference again under other conditions. `_answers` combines all differences, with the assumptions on which
they rest. `_report` makes one page of HTML of this.
"""

from batprotocol._util.deprecation import old_names
from batprotocol.studies.whatif._answers import WhatIfAnswer, answer_of
from batprotocol.studies.whatif._plan import ReadyLog, WhatIfPlan, plan_for, ready_log, study_toml
from batprotocol.studies.whatif._question import Question, parse_nodes
from batprotocol.studies.whatif._report import page

__all__ = [
    "Question",
    "ReadyLog",
    "WhatIfAnswer",
    "WhatIfPlan",
    "answer_of",
    "page",
    "parse_nodes",
    "plan_for",
    "ready_log",
    "study_toml",
]

__getattr__ = old_names(__name__, {"Answer": "WhatIfAnswer", "Plan": "WhatIfPlan"})
