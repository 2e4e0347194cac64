"""The inputs of runs: how they differ from what a study names, and how they are read and checked."""

from __future__ import annotations

import math
import os
import tempfile
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from urllib.parse import parse_qsl

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import parse_duration
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.errors import InputError, StudyError, shown
from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.policies.names import PolicyNameError, parts_of, scheduler_named, with_options
from batprotocol.results.groups import GROUPINGS, JobGroups, job_groups
from batprotocol.simulator import ExternalEventList, host_events_of, read_external_events
from batprotocol.studies.keys import KEYS, NEVER, OLD_KEYS
from batprotocol.studies.runs import Run, Task, TraceFile
from batprotocol.studies.sources import (
    CAP,
    ChosenScheduler,
    StudyFiles,
    electricity_of,
    filled,
    is_policy,
    read_trace,
)
from batprotocol.workloads import Platform, Workload, advice_on, named_workload, platform_for, read_platform
from batprotocol.workloads.changes import known_run_times
from batprotocol.workloads.described import parse_watts, with_watts
from batprotocol.workloads.electricity.tables import trace_file
from batprotocol.workloads.events import written_event
from batprotocol.workloads.host_events import (
    Exponential,
    FailureModel,
    HostChange,
    HostEvent,
    Weibull,
    drawn_failures,
    parse_law,
    read_host_events,
)
from batprotocol.workloads.host_events.failures import merged_outages
from batprotocol.workloads.platform import DEFAULT_MASTER
from batprotocol.workloads.requests import check_requests

# How runs differ from what a study names: changed workloads, hosts that fail, caps and traces that policies know.


# The events of hosts of a run: read from a file, made of a trace of failures, or drawn from laws; and checked.


EventsOfFiles: TypeAlias = "Callable[[str], str]"
"""The path of a file of a run on this machine, by its digest."""

REPAIR: Final = "lognormal:mean=355min,median=54min"
"""The law of repairs by default: B. Schroeder and G. A. Gibson, DSN 2006."""
_LONGER: Final = 4.0
"""By default, failures are drawn for this many times the time that the jobs need without failures."""


def laws_of(value: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The laws of failures of a run, as a part of its task; empty: no failures are drawn.

    Args:
        value: the values of the keys of the study.
        seed: the seed of the run.
    """
    if value.get("mtbf", NEVER) == NEVER:
        return {}
    found: dict[str, Any] = {
        "mtbf": seconds_of(value["mtbf"]),
        "shape": float(value.get("failure_shape", 1.0)),
        "repair": str(value.get("repair", REPAIR)),
        "each": str(value.get("failing", "host")),
        "seed": int(value.get("failure_seed", seed)),
    }
    if "failures_until" in value:
        found["until"] = seconds_of(value["failures_until"])
    return found


def failure_seed_of(value: Mapping[str, Any]) -> str | None:
    """The key of the seed that draws failures: `failure_seed`, or else `seed`; None if no seed does."""
    if value.get("mtbf", NEVER) == NEVER:
        return None
    return next((key for key in ("failure_seed", "seed") if key in value), None)


def seconds_of(value: str | float) -> float:
    """The seconds of a duration such as `1mo`, or a number of seconds as it is.

    Raises:
        InputError: it is not a duration.
    """
    return parse_duration(value) if isinstance(value, str) else float(value)


def until_of(laws: Mapping[str, Any], workload: Workload, hosts: int) -> float:
    """The time until which failures are drawn.

    Raises:
        InputError: it is not given, and the run times of the jobs are not known.
    """
    if "until" in laws:
        return float(laws["until"])
    jobs = known_run_times(workload)
    if jobs is None:
        raise InputError(
            "the run times of the jobs are not known before they run: set failures_until, such as failures_until = "
            '"30d", the time until which failures are drawn'
        )
    last = workload[len(workload) - 1].time if len(workload) else 0.0
    work = math.fsum(count * time for count, time in jobs) / hosts
    return _LONGER * (max(last, 0.0) + work + max((time for _, time in jobs), default=0.0))


def made_events(
    task: Task, platform: Platform, workload: Workload, path_of: EventsOfFiles, left_out: LeftOut
) -> list[ExternalEventList]:
    """The external events of a run. Those of hosts are checked, unless the scheduler may read other keys.

    A failure of a host that the events take away, or bring back, in the same time is left out.

    Args:
        task: the run.
        platform: its platform.
        workload: its workload.
        path_of: the path of a file, by its digest.
        left_out: where the rows of a trace that are left out are counted.

    Raises:
        InputError: an event cannot be read, names a host that does not exist, or cannot follow the events before it.
        OSError: a file cannot be read.
    """
    hosts = len(platform.computation_hosts)
    found = []
    if task.events_files:
        path = path_of(task.events_files)
        found += read_host_events([path], hosts) if is_policy(task.scheduler) else [read_external_events(path)]
    if task.failures_files:
        found.append(_of_file(path_of(task.failures_files), platform, left_out))
    if task.drawn_failures:
        laws = task.drawn_failures
        until = until_of(laws, workload, hosts)
        events = drawn_failures(platform, _model(laws), until=until, seed=laws["seed"])
        found.append(ExternalEventList.of(((time, event.to_data()) for time, event in events), corrected=True))
    if len(found) > 1 and any(isinstance(event, HostEvent) for _, event in host_events_of(found[:1])):
        found[1] = _fitting(found[0], found[1], hosts)
    return found


def _model(laws: Mapping[str, Any]) -> FailureModel:
    mean, shape = laws["mtbf"], laws["shape"]
    between = Exponential(mean) if shape == 1 else Weibull.of_mean(shape, mean)
    return FailureModel(between, parse_law(laws["repair"]), laws["each"])


def _of_file(path: str, platform: Platform, left_out: LeftOut) -> ExternalEventList:
    """The events of a file: external events of hosts, or a trace of failures."""
    with open(path, "rb") as file:
        begin = file.read(64)
    if begin.lstrip().startswith(b"{"):
        return read_host_events([path], len(platform.computation_hosts))[0]
    names = [host.name for host in platform.computation_hosts]
    from batprotocol.sites.logs.outages import outage_events, read_outages

    events = outage_events(read_outages(path, left_out), names, left_out)
    return ExternalEventList.of(((time, event.to_data()) for time, event in events), corrected=True)


def _fitting(events: ExternalEventList, failures: ExternalEventList, hosts: int) -> ExternalEventList:
    """The failures without those of hosts that the events take away, or bring back, in the same time."""
    changes: dict[int, list[tuple[float, bool]]] = {}
    for time, event in host_events_of([events]):
        if isinstance(event, HostEvent):
            for host in event.hosts:
                changes.setdefault(host, []).append((time, event.state is HostChange.UP))
    begins: dict[int, float] = {}
    outages: list[tuple[float, float, int]] = []
    for time, event in host_events_of([failures]):
        if not isinstance(event, HostEvent) or event.state is HostChange.DRAIN:
            raise InputError("it has windows or drained hosts, and so have the events: write them into one file")
        for host in event.hosts:
            if event.state is HostChange.DOWN:
                begins[host] = time
            else:
                outages.append((begins.pop(host), time, host))
    outages += [(time, math.inf, host) for host, time in begins.items()]
    found: list[tuple[float, FrozenHosts, bool]] = []
    for begin, end, host in outages:
        known = changes.get(host, [])
        place = bisect_left(known, (begin, False))
        if (place == 0 or known[place - 1][1]) and (place == len(known) or known[place][0] > end):
            found.append((begin, frozen_hosts(host), True))
            if end < math.inf:
                found.append((end, frozen_hosts(host), False))
    found.sort(key=_time)
    return ExternalEventList.of(
        ((time, event.to_data()) for time, event in merged_outages(found, hosts)), name=failures.name, corrected=True
    )


def file_of_events(lists: Sequence[ExternalEventList], folder: str) -> str:
    """The path of a file with these events, for another program: the file that they were read from, or a new one."""
    if len(lists) == 1 and lists[0].filename:
        return lists[0].filename
    path = os.path.join(folder, "events.jsonl")
    events = sorted(((event.timestamp, event.data) for each in lists for event in each.events), key=_time)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(written_event(time, data) for time, data in events)
    return path


def _time(event: tuple[Any, ...]) -> float:
    time: float = event[0]
    return time


_DRAWN: Final = {"weeks": "weeks", "estimate_factor": "estimates"}
"""The parts of a workload that are drawn at random, by the keys that cause it."""
SEED: Final = "{seed}"
"""The placeholder for the seed in the initialization data and in the arguments of a scheduler."""
PREDICTED: Final = "predicted"


class GivenInput(NamedTuple):
    """A file that a run reads, or a value in place of one. A platform has options, too."""

    label: Any
    text: Any
    files: StudyFiles | None
    options: Mapping[str, Any] = {}


def changes_of(value: Mapping[str, Any], workload: GivenInput) -> dict[str, str]:
    """The changes of a workload, as options in its name."""
    own = words_of(workload)
    found = {}
    for key, given in value.items():
        if KEYS[key].kind != "change" or word_of(key) in own or (key == "seed" and not draws_of(value, workload)):
            continue
        if key == "estimates" and given != "exact":
            continue  # the walltimes of the workload as it is
        found[word_of(key)] = ("yes" if given else "no") if isinstance(given, bool) else str(given)
    return found


def counted_of(task: Task) -> dict[str, float]:
    """The time that counts, if the workload of a run is a window with margins, as settings of its measure."""
    words = {**dict(parse_qsl(task.workload.partition("?")[2])), **task.changes}
    if "window" not in words:
        return {}
    try:
        begin, end = (float(each) for each in words["window"].split("-"))
        before, factor = float(words.get("before", 0)), float(words.get("arrival-factor", words.get("load", 1)))
    except ValueError:
        raise StudyError(f"expected an interval such as 0-604800, got {shown(words['window'])}", "window") from None
    # jobs.csv has six decimals, and so has the time of a job that is submitted when the window begins
    return {"begin": round(before / factor, 6), "end": round((before + end - begin) / factor, 6)}


def predicting(policy: str) -> str:
    """A policy that predicts the run times of jobs."""
    return f"{policy}+{PREDICTED}"


def word_of(key: str) -> str:
    """The name of a key in names of workloads."""
    return key.replace("_", "-")


def words_of(workload: GivenInput) -> set[str]:
    """The options in the name of a workload, by their present names."""
    words = (part.partition("=")[0] for part in str(workload.text).partition("?")[2].split("&"))
    old = {name: word_of(new[workload.files is None]) for name, new in OLD_KEYS.items()}
    return {old.get(word, word) for word in words}


def draws_of(value: Mapping[str, Any], workload: GivenInput) -> tuple[str, ...]:
    """The parts of a workload that are drawn at random, of `workload`, `weeks` and `estimates`."""
    if workload.files is None:
        return ("workload",)
    own = words_of(workload)
    return tuple(dict.fromkeys(what for key, what in _DRAWN.items() if key in value or word_of(key) in own))


def drawn_of(value: Mapping[str, Any], workload: GivenInput, scheduler: ChosenScheduler, init: str) -> tuple[str, ...]:
    """The parts that the seed of a run draws."""
    failures = ("failures",) if failure_seed_of(value) is not None else ()
    if "seed" not in value:
        return failures
    found = () if "seed" in words_of(workload) else draws_of(value, workload)
    own = ("scheduler",) if SEED in init or SEED in scheduler.target or SEED in scheduler.arguments.values() else ()
    return (*found, *own, *failures)


# The electricity of a study: its carbon intensities, prices and caps, and the policies that know them.


ELECTRICITY: Final = ("carbon", "price", CAP)
"""The keys of what is known about the electricity."""
NONE: Final = "none"
"""The value of the key `cap` without a cap."""


def electric_input(key: str, label: Any, given: Any, folder: str, place: str) -> GivenInput:
    """A carbon intensity, a price or a cap, with its file.

    Args:
        key: its key.
        label: its name in tables.
        given: its value: the name of a trace or, of a cap, a number of watts.
        folder: the folder of the study.
        place: its place in the description, for errors.

    Raises:
        StudyError: it cannot be used.
        OSError: its file cannot be read.
    """
    text = f"{given:.15g}" if isinstance(given, int | float) else str(given)
    if key == CAP and text == NONE:
        return GivenInput(label, None, None)
    path, mark, query = text.partition("?")
    root, files = folder, None
    if trace_file(text) is not None and os.path.isfile(os.path.join(folder, path)):
        root, own = os.path.split(os.path.join(folder, path))
        files, text = StudyFiles.read(root, [own]), own + mark + query
    try:
        unit = read_trace(key, text, root, "" if files is None else files.digest).unit
    except InputError as error:
        raise StudyError(str(error), place) from None
    return GivenInput(label, text, files, {"unit": unit})


def measures_energy(value: Mapping[str, Any]) -> bool:
    """Whether the energy of a run is measured: if the study says so, or knows something about its electricity."""
    found = value.get("energy")
    return any(key in value for key in ("watts", *ELECTRICITY)) if found is None else bool(found)


def traces_of_run(value: Mapping[str, Any]) -> tuple[TraceFile, ...]:
    """The carbon intensity, price and cap of a run, for its measure.

    Args:
        value: the values of the keys of the study.
    """
    found = []
    for key in ELECTRICITY:
        each: GivenInput | None = value.get(key)
        if each is not None and each.text is not None:
            files = each.files
            about = ("", "") if files is None else (files.digest, files.root)
            found.append(TraceFile(key, each.text, *about, each.options.get("unit", "")))
    return tuple(found)


class ElectricSchedulers:
    """The schedulers of a study, with each of its caps and traces: a policy keeps the cap of a run, and has the traces
    of the run in place of `{carbon}` and `{price}`. Other schedulers stay as they are.

    Args:
        schedulers: the schedulers.
        inputs: the values of the keys of electricity; a key that was not given is missing.

    Raises:
        StudyError: a policy cannot have them.
        OSError: a file cannot be read.
    """

    def __init__(self, schedulers: Iterable[ChosenScheduler], inputs: Mapping[str, Sequence[GivenInput]]) -> None:
        self._made: dict[tuple[int, ...], ChosenScheduler] = {}
        given = {key: inputs[key] for key in ELECTRICITY if key in inputs}
        for each in schedulers:
            for values in product(*given.values()):
                value = dict(zip(given, values, strict=True))
                if all(each.runs_with_value(key, one.label) for key, one in value.items()):
                    self._made[_place(each, value)] = _with_electricity(each, value)

    def scheduler(self, scheduler: ChosenScheduler, value: Mapping[str, Any]) -> ChosenScheduler:
        """The scheduler of a run.

        Args:
            scheduler: the scheduler as the study names it.
            value: the values of the keys of the study.
        """
        return self._made[_place(scheduler, value)]


def _place(scheduler: ChosenScheduler, value: Mapping[str, Any]) -> tuple[int, ...]:
    return id(scheduler), *(id(value.get(key)) for key in ELECTRICITY)


def _with_electricity(scheduler: ChosenScheduler, value: Mapping[str, GivenInput]) -> ChosenScheduler:
    if not is_policy(scheduler.target):
        return scheduler
    target, given = scheduler.target, []
    for key in ("carbon", "price"):
        each = value.get(key)
        word = f"{{{key}}}"
        if word in target:
            if each is None or each.text is None:
                raise StudyError(f"{scheduler.name} waits for the {key}, and there is none: set {key}", key)
            target = target.replace(word, each.text)
            given.append(each)
    cap = value.get(CAP)
    if cap is not None and any(part.name == CAP for part in parts_of(target) or ()):
        raise StudyError(f"{scheduler.name} has a cap of its own: remove it there, or the key cap", CAP)
    try:
        if cap is not None and cap.text is not None:
            target = with_options(target, {CAP: cap.text})
            given.append(cap)
        if target == scheduler.target:
            return scheduler
        files = _together(scheduler, given)
        scheduler_named(filled(target), "" if files is None else files.root)
    except PolicyNameError as error:
        raise StudyError(f"{scheduler.name}: {error}", "scheduler") from None
    return msgspec.structs.replace(scheduler, target=target, files=files)


def _together(scheduler: ChosenScheduler, given: Iterable[GivenInput]) -> StudyFiles | None:
    """The files of a policy and of its traces, which are in one folder."""
    every = [each for each in (scheduler.files, *(each.files for each in given)) if each is not None]
    if len({os.path.abspath(each.root) for each in every}) > 1:
        first = ", ".join(shown(each.names[0]) for each in every)
        raise StudyError(
            f"the files of {scheduler.name}, {first}, are in several folders: put them in one", "scheduler"
        )
    names = dict.fromkeys(name for each in every for name in each.names)
    return StudyFiles.read(every[0].root, names) if every else None


# The workloads and platforms in a process that executes runs: each is read once, and kept for the next runs.


Kept = TypeVar("Kept")

_WORKLOADS: Final = 16
_PLATFORMS: Final = 16
_FILES: Final = 8
"""The numbers of inputs that are kept. Runs that share them follow one another."""
_OFFERED: Final = "offered-load"
"""This change of a workload depends on the platform."""


class Submitted(NamedTuple):
    """A workload, the users who submitted its jobs (None if no user is known), and the other groups of its jobs."""

    workload: Workload
    users: Mapping[str, Any] | None
    groups: JobGroups


class _Recent(OrderedDict[Any, Any]):
    """The values that were used last, up to a maximum number."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def __setitem__(self, name: Any, value: Any) -> None:
        super().__setitem__(name, value)
        self.move_to_end(name)
        while len(self) > self._count:
            self.popitem(last=False)

    def wanted(self, name: Any, make: Callable[[], Kept]) -> Kept:
        """The value of this name. It is made if it is missing."""
        if name not in self:
            self[name] = make()
        self.move_to_end(name)
        found: Kept = self[name]
        return found


class Inputs:
    """The inputs that a process has read.

    Args:
        folder: the folder for files from another machine.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._roots: dict[str, str] = {}
        self._read = _Recent(_FILES)
        self._workloads = _Recent(_WORKLOADS)
        self._platforms = _Recent(_PLATFORMS)

    def root(self, digest: str, shared: Mapping[str, StudyFiles]) -> str:
        """The folder of files on this machine; "" if the digest is empty."""
        if digest and digest not in self._roots:
            self._roots[digest] = shared[digest].located(self._folder)
        return self._roots[digest] if digest else ""

    def path(self, digest: str, shared: Mapping[str, StudyFiles]) -> str:
        """The path of the file that the study named."""
        return os.path.join(self.root(digest, shared), shared[digest].names[0])

    def workload(self, task: Task, shared: Mapping[str, StudyFiles]) -> Submitted:
        """The workload of a run.

        Raises:
            InputError: it cannot be read.
            OSError: a file cannot be read.
        """
        rules = task.rules or DEFAULT_RULE_SET
        beyond = rules != DEFAULT_RULE_SET
        corrected = task.corrected or beyond
        changes = tuple(task.changes.items())

        def made() -> Submitted:
            path = self.path(task.workload_files, shared) if task.workload_files else task.workload.partition("?")[0]
            own = task.workload.partition("?")[2]
            query = "&".join(filter(None, (own, *(f"{word}={value}" for word, value in changes))))
            name = f"{path}?{query}" if query else path
            hosts = self._hosts(task, shared) if task.changes.keys() & {_OFFERED} else None
            found = named_workload(name, compositions=beyond, corrected=corrected, kept=self._read, hosts=hosts)
            return Submitted(found, found.users() or None, job_groups([found], keys=GROUPINGS.keys() - {"user"}))

        machine = (task.platform, *_machine(task)) if _OFFERED in task.changes else None
        own = (task.workload, task.workload_files, changes, beyond, corrected, machine)
        return self._workloads.wanted(own, made)

    def _hosts(self, task: Task, shared: Mapping[str, StudyFiles]) -> int | None:
        """The number of hosts of a run's platform; None if the workload decides it."""
        if task.platform_files:
            return len(self.platform(task, shared).computation_hosts)
        found = None if task.platform is None else int(task.platform)
        return found if not task.mmax else min(task.mmax, found or task.mmax)

    def platform(self, task: Task, shared: Mapping[str, StudyFiles]) -> Platform:
        """The platform of a run.

        Raises:
            InputError: it cannot be read.
            OSError: a file cannot be read.
        """

        def made() -> Platform:
            if task.platform_files:
                found = read_platform(
                    self.path(task.platform_files, shared),
                    energy=task.energy and not task.watts,
                    roles=tuple(task.roles.items()),
                    master=task.master or DEFAULT_MASTER,
                    mmax=task.mmax or None,
                )
            else:
                workload = self.workload(task, shared).workload
                hosts = None if task.platform is None else int(task.platform)
                found = platform_for([workload], hosts=hosts, mmax=task.mmax or None)
            return with_watts(found, parse_watts(task.watts)) if task.watts else found

        own = (task.workload, task.workload_files, tuple(task.changes.items()), task.rules)
        return self._platforms.wanted((*_machine(task), *(() if task.platform_files else (task.platform, *own))), made)


def _machine(task: Task) -> tuple[Any, ...]:
    """The values of a task that decide its platform, beside the workload that it may be made for."""
    return task.platform_files, task.energy, task.watts, task.master, task.mmax, tuple(task.roles.items())


def checked(runs: Iterable[Run], files: Mapping[str, StudyFiles]) -> tuple[str, ...]:
    """Check the inputs of these runs, with their events of hosts, and return advice on them as sentences.

    Args:
        runs: the runs.
        files: the files that they read, by their digests.

    Raises:
        StudyError: a workload or a platform cannot be used.
        OSError: a file cannot be read.
    """
    notes: dict[str, None] = {}
    with tempfile.TemporaryDirectory() as folder:
        inputs = Inputs(folder)
        workloads: dict[object, None] = {}
        platforms: dict[object, None] = {}
        asking: dict[object, None] = {}
        events: dict[object, None] = {}
        traces: dict[object, None] = {}
        for run in runs:
            task = run.task
            key = task.workload, task.workload_files, *(word for word in task.changes if word != "seed")
            if key not in workloads:
                workloads[key] = None
                for note in _of_workload(run, inputs, files):
                    notes[note] = None
            if is_policy(task.scheduler) and key not in asking:  # other schedulers may read other keys
                asking[key] = None
                _expect_requests(run, inputs, files)
            machine = task.platform_files, task.master, task.mmax, tuple(task.roles.items()), task.energy, task.watts
            if (task.platform_files or task.watts) and machine not in platforms:
                platforms[machine] = None
                _expect(run, "platform", inputs, files)
            known = run.measure.traces, key
            if run.measure.traces and known not in traces:
                traces[known] = None
                _expect_traces(run, inputs, files)
            laws = tuple(each for each in task.drawn_failures.items() if each[0] != "seed")
            failing = task.events_files, task.failures_files, laws, is_policy(task.scheduler), task.platform, *machine
            if any(failing[:3]) and failing not in events:
                events[failing] = None
                for note in _of_events(run, inputs, files):
                    notes[note] = None
    return tuple(notes)


def _of_workload(run: Run, inputs: Inputs, files: Mapping[str, StudyFiles]) -> Iterable[str]:
    _expect(run, "workload", inputs, files)
    workload = inputs.workload(run.task, files).workload
    label = str(run.axes.get("workload", run.task.workload))
    return [f"{label}: {each}" for each in advice_on(workload)]


def _expect_requests(run: Run, inputs: Inputs, files: Mapping[str, StudyFiles]) -> None:
    """Check what the jobs of a run ask for.

    Raises:
        StudyError: a value cannot be read, or jobs wait for each other in a circle.
    """
    workload = inputs.workload(run.task, files).workload
    try:
        check_requests((job_id, extra_data, "") for job_id, extra_data in workload.extra_data())
    except InputError as error:
        raise StudyError(f"{run}: {error}", "workload") from None


def _of_events(run: Run, inputs: Inputs, files: Mapping[str, StudyFiles]) -> Iterable[str]:
    """Check the external events of a run, and the laws of its failures; sentences on what is left out of a trace."""
    task, left_out = run.task, LeftOut()
    try:
        made_events(
            task,
            inputs.platform(task, files),
            inputs.workload(task, files).workload,
            lambda digest: inputs.path(digest, files),
            left_out,
        )
    except InputError as error:
        key = "mtbf" if task.drawn_failures else "failures" if task.failures_files else "events"
        raise StudyError(f"{run}: {error}", key) from None
    for reason in left_out:
        what = "outages are left out" if reason.is_row else "values of outages are left out"
        yield f"{task.failures}: {reason.count:,} {what}: {reason.reason}"


def _expect_traces(run: Run, inputs: Inputs, files: Mapping[str, StudyFiles]) -> None:
    """Check that no trace ends before the last submission. Whether it reaches to the end of the run is known then.

    Raises:
        StudyError: one does, or it cannot be used.
    """
    workload = inputs.workload(run.task, files).workload
    roots = {each.files: inputs.root(each.files, files) for each in run.measure.traces if each.files}
    last = workload[len(workload) - 1].time if len(workload) else 0.0
    try:
        electricity_of(run.measure, roots).expect_until(last)
    except InputError as error:
        raise StudyError(f"{run}: {error.reason}", error.path or "carbon") from None


def _expect(run: Run, what: str, inputs: Inputs, files: Mapping[str, StudyFiles]) -> None:
    """Check that an input of a run can be used.

    Raises:
        StudyError: it cannot be used.
    """
    try:
        inputs.workload(run.task, files) if what == "workload" else inputs.platform(run.task, files)
    except InputError as error:
        raise StudyError(f"{run}: {error}", what) from None
