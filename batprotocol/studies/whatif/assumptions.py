"""The assumptions on which the answer to a question rests, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from batprotocol.studies.comparing.series import FEWEST_WINDOWS
from batprotocol.studies.whatif.answers import Answer
from batprotocol.studies.whatif.plan import ARRIVALS, RECORDED, Plan
from batprotocol.studies.whatif.windows import span_text

__all__ = ["assumptions_of"]


def assumptions_of(answer: Answer) -> list[str]:
    """The assumptions, and the limits of the numbers, as sentences."""
    plan = answer.plan
    return [
        *_of_windows(plan),
        *_of_machine(answer),
        *_of_jobs(plan),
        *_of_runs(answer),
        *_of_intervals(plan),
    ]


def _of_windows(plan: Plan) -> Iterator[str]:
    span, windows = plan.span, plan.windows
    counted = sum(each.jobs for each in windows)
    yield (
        "The whole log is simulated once for each alternative, and then cut into "
        f"{_many(len(windows), 'window')} of {span_text(plan.length)} (batch means). So each window begins with the "
        "running jobs, the queue and the usage that the alternative itself left, and a backlog is carried along. The "
        "numbers are those of the whole log. They do not depend on the windows; intervals do."
    )
    yield (
        f"{counted:,} of {_many(len(plan.workload), 'job')} count. The first {span_text(span.begin - span.first)} of "
        "the log are a warm-up, whose jobs are simulated and do not count."
        if span.begin > span.first
        else f"{counted:,} of {_many(len(plan.workload), 'job')} count, without a warm-up."
    )
    yield (
        "The log does not say which jobs ran and waited when it began. In the simulation, the machine is empty then, "
        "for today's policy and for all others. A queue that is older than the log, and needs longer than the warm-up, "
        "is not in the numbers."
    )
    if plan.outside:
        yield f"{_many(plan.outside, 'job')} of the log {_are(plan.outside)} in the warm-up or the cool-down."


def _of_machine(answer: Answer) -> Iterator[str]:
    plan = answer.plan
    if plan.platform:
        yield f"The machine is the platform {plan.platform}, with {_many(plan.hosts, 'host')}."
    else:
        yield f"The machine has {_many(plan.hosts, 'equal host')}, without a network, partitions and failures."
    if plan.files:
        yield "Machines with other numbers of hosts have hosts of the same kinds, in the same shares."
    for each in plan.remarks:
        yield f"{each[:1].upper()}{each[1:]}."
    if plan.has_watts:
        yield "Energy is that of all hosts in the time of each window, by the watts of the platform."
    else:
        yield "Energy is not measured: the platform has no watts."
    sizes = [plan.workload.record(place).resources for place in range(len(plan.workload))]
    for count in plan.machines.values():
        larger = sum(size > count for size in sizes)
        if larger:
            many = f"{_many(larger, 'job')} of the log {_are(larger)}"
            yield f"{many} larger than {count:,} hosts, and not simulated there."
    for name, count in answer.not_simulated.items():
        yield f"With {answer.titles[name]}, {_many(count, 'job')} that would count did not run."


def _of_jobs(plan: Plan) -> Iterator[str]:
    yield (
        "A job waits from the moment at which it could have started: when the log says that it was eligible, and after "
        "the jobs that it waits for. A simulation does not know it before that, unless it waits for other jobs."
    )
    yield (
        "Each job runs for as long as in the log, with any policy and on any machine, and users submit the same jobs "
        "at the same times, however long they wait."
    )
    if plan.partial:
        yield (
            f"{_many(plan.partial, 'job')} {_asks(plan.partial)} for parts of hosts. Utilisation and offered load "
            "count the share of the cores of hosts that jobs take."
        )
    if ARRIVALS in plan.axes:
        yield (
            "Arrivals × 1.1 means that the times between submissions are divided by 1.1: jobs come in 1/1.1 of the "
            "time. It is a factor, not the offered load."
        )
    sentences = {
        "asked": "With asked estimates, policies expect a job to run for the time that its user asked for.",
        "exact": "With exact estimates, policies know how long each job runs.",
        "predicted": "With predicted estimates, policies expect the mean of the last two jobs of the same user, at "
        "most the time that was asked for (Tsafrir, Etsion and Feitelson, TPDS 18, 2007).",
    }
    yield from (sentences[each] for each in plan.keys["estimates"])
    for note in plan.notes:
        yield f"About the log: {note}."


def _of_runs(answer: Answer) -> Iterator[str]:
    plan = answer.plan
    today = answer.titles[plan.baseline]
    if plan.has_starts:
        why = (
            "nobody said what the machine has, so this is an assumption (--today names another one)"
            if plan.is_assumed
            else "today's policy"
        )
        yield f"The baseline is {today}, simulated: {why}. It has the same past as the alternatives."
        yield (
            f"The policy {RECORDED} is the log itself: jobs start when and where the log says that they did, unless "
            "hosts that the log gives to a job are still busy. The model's own error is the baseline minus this. If a "
            "difference is not larger, its sign is unknown."
        )
    else:
        what = "the first policy" if plan.is_assumed else "today's policy"
        yield f"The log has no starts of jobs, so the baseline is {what}: {today}. The model's own error is unknown."
    if answer.failed:
        yield f"{answer.failed:,} of {_many(answer.runs, 'run')} failed and are missing, with their pairs."


def _of_intervals(plan: Plan) -> Iterator[str]:
    if len(plan.windows) < FEWEST_WINDOWS:
        yield (
            f"No interval can be given: that takes at least {FEWEST_WINDOWS} windows, and there "
            f"{_are(len(plan.windows))} {len(plan.windows)}. Differences may be chance."
        )
        return
    yield (
        "A mean is over all jobs that count, so windows with more jobs count more. Its interval is that of a ratio of "
        "sums over windows (Cochran, Sampling techniques, 1977), and differences are compared in pairs by window."
    )
    yield (
        "Intervals are for 95 of 100 cases if windows are long enough to forget the one before. Each is the widest of "
        "those from the windows, and from two, four... of them joined, as long as ten are left. On generated logs of "
        "six weeks with a load of 0.7 to 1.05, they contained the mean of other logs in 80 to 91 of 100 cases. "
        "Windows that follow one another may be alike, "
        "so they count as fewer independent ones, by the autocorrelation of neighbours (Bayley and Hammersley, 1946). "
        "Intervals reach farther to the side on which windows are farther off the mean (Zou and Donner, 2008)."
    )
    yield "Intervals are not corrected for the number of comparisons: of 20, one leaves out 0 by chance alone."


def _many(count: int, word: str) -> str:
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"


def _asks(count: int) -> str:
    return "asks" if count == 1 else "ask"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
