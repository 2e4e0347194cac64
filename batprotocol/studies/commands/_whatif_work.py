"""`batproto whatif`: run the study of a question, print the differences, and write the report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from batprotocol._util.files import whole
from batprotocol.cli.terminal import Output, print_grid, printable
from batprotocol.policies import is_name
from batprotocol.studies import Study
from batprotocol.studies.commands._study_work import execute
from batprotocol.studies.whatif import Question, WhatIfPlan, answer_of, page, plan_for, ready_log, study_toml


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """The options of `batproto whatif`.

    Args:
        log: the log.
        policies: names of policies, also several with commas.
        arrivals: factors of arrivals.
        nodes: other numbers of hosts.
        estimates: the estimates that policies have.
        today: today's policy, or "".
        windows: the length of windows in seconds, or None.
        warm_up: that of the warm-up, or None.
        cool_down: that of the cool-down.
        platform: a platform file, or "".
        seed: without effect.
        output: the file of the report.
        toml: the file of the study, or None.
        store: the folder of the runs, or None.
        title: the title of the report, or "".
        processes: the number of runs at a time, or None.
    """

    log: str
    policies: Sequence[str]
    arrivals: tuple[float, ...]
    nodes: tuple[str, ...]
    estimates: tuple[str, ...]
    today: str
    windows: float | None
    warm_up: float | None
    cool_down: float
    platform: str
    seed: int
    output: str
    toml: str | None
    store: str | None
    title: str
    processes: int | None


def ask(options: QuestionOptions) -> int:
    """Answer a question, and return the exit status: 1 if runs have failed."""
    question = Question(
        policies=tuple(dict.fromkeys(name for each in options.policies for name in _names(each))),
        arrivals=options.arrivals,
        nodes=options.nodes,
        estimates=options.estimates,
        today=options.today,
        window=options.windows,
        warm_up=options.warm_up,
        cool_down=options.cool_down,
        seed=options.seed,
    )
    folder = os.path.dirname(options.toml or options.output)
    ready = ready_log(options.log, platform=options.platform, folder=folder)
    plan = plan_for(ready.workload, question, platform=ready.platform, folder=folder, left_out=ready.left_out)
    for path, text in plan.files.items():
        with whole(path) as file:
            file.write(text.encode())
    study = _study(plan, options.toml)
    place = options.store or (study.place() if options.toml else f"{os.path.splitext(options.output)[0]}.runs")
    printer = Output()
    status, rows = execute(study, place, printer, processes=options.processes)
    answer = answer_of(plan, rows)
    printer.line(("heading", answer.error_sentence()))
    for note in (answer.warning, *plan.remarks):
        if note:
            printer.line(("detail", note))
    if answer.alternatives:
        print_grid(printer, answer.differences.grid())
        print_grid(printer, answer.arguments_grid())
    with whole(options.output) as file:
        file.write(page(answer, options.title).encode())
    many = len(answer.alternatives)
    what = f"{many:,} alternative{'s' * (many != 1)}" if many else "no alternative to today's policy, its error only"
    printer.line(("file", printable(options.output)), ("", f": {what}, offline"))
    return status


def _names(text: str) -> Sequence[str]:
    """The policies of an option: one whose name has commas, or several."""
    return [text] if is_name(text) else [each.strip() for each in text.split(",") if each.strip()]


def _study(plan: WhatIfPlan, toml: str | None) -> Study:
    if toml is None:
        return Study(**plan.keys)
    folder = os.path.dirname(toml)
    comments = [
        f"What if? {plan.log}: the whole log with each alternative.",
        "batproto whatif cuts the runs into windows for its report; tables of this study have the whole log.",
    ]
    text = study_toml(_relative(plan.keys, folder), comments)
    with whole(toml) as file:
        file.write(text.encode())
    return Study.read(toml)


def _relative(keys: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The keys with names of files that are relative to the folder of the study."""
    path, mark, query = keys["workload"].partition("?")
    found = {**keys, "workload": os.path.relpath(path, folder or os.curdir) + mark + query}
    machines = [
        {**each, "platform": os.path.relpath(each["platform"], folder or os.curdir)} if isinstance(each, dict) else each
        for each in keys["platform"]
    ]
    return {**found, "platform": machines}
