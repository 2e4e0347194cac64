"""Commands of operators: scontrol and scancel.

They are the data of external events: `{"slurm": "scontrol requeue 7"}`. `COMMANDS` has the commands, options and keys
of the manual, with the fate of each. Words that are not followed, or not known, are noted: nothing is left out without
a word.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.policies.rules import PreemptMode
from batprotocol.policies.slurm.cluster import ClusterPartition, bits_of, lowest
from batprotocol.policies.slurm.controller import Controller, JobUpdate
from batprotocol.policies.slurm.queue import JobStage, SlurmJob, limit_memory, number_of
from batprotocol.policies.slurm.reservations import LicenseReservation, NodeReservation
from batprotocol.policies.slurm.state import NodeStates
from batprotocol.sites.slurm.configuration_values import missed_by
from batprotocol.sites.slurm.parameters import RECORDS, ParameterStanding
from batprotocol.sites.slurm.texts import flag, minutes, span
from batprotocol.workloads.requests import expanded_names
from batprotocol.workloads.requests.notation import parse_dependency, parse_licenses, parse_moment

__all__ = [
    "COMMANDS",
    "obey",
    "read_command",
]


def read_command(data: str) -> list[str] | None:
    """The command of an external event; None if its data are about something else.

    >>> read_command('{"slurm": "scancel 7"}')
    ['scancel', '7']

    Raises:
        InputError: the command is not text.
    """
    if '"slurm"' not in data:
        return None
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    text = found.get("slurm") if isinstance(found, dict) else None
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > 10_000:
        raise InputError(f"expected a command such as 'scancel 7', got {shown(text)}", "slurm")
    try:
        return shlex.split(text)
    except ValueError:
        raise InputError(f"expected a command such as 'scancel 7', got {shown(text)}", "slurm") from None


def obey(controller: Controller, words: list[str], now: float) -> list[str]:
    """Do what a command says.

    Args:
        controller: the controller.
        words: the words of the command.
        now: the time, in seconds.

    Returns:
        What of it has no effect, and could have one on a real Slurm, as half sentences.

    Raises:
        InputError: it cannot be read, and has no effect.
    """
    controller.advance(now)
    order = _Order(controller, now)
    program, given = (words[0], words[1:]) if words else ("", [])
    if program == "scancel":
        order.scancel(given)
    elif program == "scontrol":
        order.scontrol(given)
    else:
        raise InputError(f"expected scontrol or scancel, got {shown(program)}", "slurm")
    return order.notes


# The commands, their options, and the keys of updates, as the manual of Slurm 22.05 lists them


def _standings(followed: str, idle: str = "", missed: str = "") -> dict[str, tuple[str, ParameterStanding]]:
    """The names of a list, in small letters, with their writing and their standing."""
    kinds = (
        (followed, ParameterStanding.FOLLOWED),
        (idle, ParameterStanding.IDLE),
        (missed, ParameterStanding.MISSED),
    )
    return {name.lower(): (name, kind) for names, kind in kinds for name in names.split()}


COMMANDS: Final[Mapping[str, Mapping[str, tuple[str, ParameterStanding]]]] = {
    "scontrol": _standings(
        "create delete hold release requeue requeuehold resume suspend top uhold update",
        "completing errnumstr getaddrs help listpids notify pidinfo ping schedloglevel setdebug setdebugflags show"
        " token version wait_job write",
        "abort cancel_reboot cluster fsdampeningfactor reboot reconfigure shutdown takeover",
    ),
    "options of scontrol": _standings(
        "",
        "a all d details F future h help hide l local o oneliner Q quiet u uid v verbose V version",
        "M clusters sibling",
    ),
    "options of scancel": _standings(
        "A account p partition q qos R reservation s signal t state u user w nodelist",
        "f full H hurry i interactive Q quiet v verbose ctld",
        "b batch help M clusters me n jobname name sibling usage V version wckey",
    ),
    "job": _standings(
        "Account ArrayTaskThrottle Contiguous Dependency EligibleTime ExcNodeList JobId Nice NodeList NumNodes"
        " Partition Priority QOS ReqNodeList ReqNodes Requeue ReservationName StartTime TimeLimit TimeMin",
        "AdminComment Comment MailType MailUser StdOut WCKey WorkDir",
        "BurstBuffer Clusters ClusterFeatures CoreSpec CPUsPerTask Deadline DelayBoot EndTime Features Gres JobName"
        " Licenses MinCPUsNode MinMemoryCPU MinMemoryNode MinTmpDiskNode Name NumCPUs NumTasks OverSubscribe Prefer"
        " Reboot ReqCores ReqProcs ReqSockets ReqThreads ResetAccrueTime Shared SiteFactor Switches TasksPerNode"
        " ThreadSpec UserID wait-for-switch",
    ),
    "node": _standings(
        "NodeName State",
        "Comment CpuBind Extra NodeAddr NodeHostname Reason",
        "ActiveFeatures AvailableFeatures Features Gres Weight",
    ),
    "partition": _standings(
        "AllowAccounts AllowGroups AllowQOS Default DefaultTime DefMemPerCPU DefMemPerNode DenyAccounts DenyQOS"
        " GraceTime LLN MaxMemPerCPU MaxMemPerNode MaxNodes MaxTime MinNodes Nodes OverTimeLimit PartitionName"
        " PreemptMode PriorityTier QOS ReqResv RootOnly State",
        "AllocNodes CpuBind DisableRootJobs Hidden",
        "Alternate DefCpuPerGPU DefMemPerGPU ExclusiveUser JobDefaults MaxCPUsPerNode"
        " OverSubscribe Priority PriorityJobFactor SelectTypeParameters Shared TRESBillingWeights",
    ),
    "reservation": _standings(
        "Accounts Duration EndTime Flags Licenses NodeCnt Nodes PartitionName Reservation ReservationName StartTime"
        " Users",
        "Comment",
        "BurstBuffer CoreCnt Features Groups MaxStartDelay Skip TRES",
    ),
    "flag of reservations": _standings(
        "ANY_NODES FLEX IGNORE_JOBS LICENSE_ONLY MAGNETIC MAINT OVERLAP SPEC_NODES STATIC_ALLOC",
        "USER_DELETE",
        "DAILY FIRST_CORES HOURLY NO_HOLD_JOBS_AFTER PART_NODES PURGE_COMP REPLACE REPLACE_DOWN TIME_FLOAT"
        " WEEKDAY WEEKEND WEEKLY",
    ),
}
"""The commands of operators, the options of both programs, the keys of updates, and flags, with the fate of each."""

_WITHOUT_VALUE: Final = frozenset(
    (*"bfHiQvV", "batch", "ctld", "full", "help", "hurry", "interactive", "me", "quiet", "usage", "verbose", "version")
)
"""The options of scancel that have no value."""
_SHORTEST: Final = 3
"""The letters that an abbreviated key has, at least."""
_DIGITS: Final = 10
"""The most digits of a number in a command."""


def _found(kind: str, name: str) -> tuple[str, ParameterStanding] | None:
    """The full name of a word, which can be the beginning of one, and its standing; None if nothing is called so."""
    table, low = COMMANDS[kind], name.lower()
    if low in table:
        return table[low]
    begun = [each for key, each in table.items() if len(low) >= _SHORTEST and key.startswith(low)]
    return begun[0] if len(begun) == 1 else None


def _requeue_hold(controller: Controller, job: SlurmJob, now: float) -> None:
    job.is_held = True
    controller.requeue(job, now)


def _suspend(controller: Controller, job: SlurmJob, now: float) -> str:
    controller.advance(now)
    return controller.suspensions.stop(job)


def _resume(controller: Controller, job: SlurmJob, now: float) -> str:
    controller.advance(now)
    return controller.suspensions.go_on(job)


_VERBS: Final[dict[str, Callable[[Controller, SlurmJob, float], str | None]]] = {
    "hold": Controller.hold,
    "uhold": Controller.hold,
    "release": Controller.release,
    "requeue": Controller.requeue,
    "requeuehold": _requeue_hold,
    "resume": _resume,
    "suspend": _suspend,
}

_STATES: Final[dict[str, Callable[[Controller, int, float], None]]] = {
    "DOWN": Controller.fail,
    "FAIL": partial(Controller.withdraw, how=NodeStates.say_failing),
    "DRAIN": partial(Controller.withdraw, how=NodeStates.drain),
    "IDLE": partial(Controller.give_back, how=NodeStates.resume),
    "RESUME": partial(Controller.give_back, how=NodeStates.resume),
    "UNDRAIN": partial(Controller.give_back, how=NodeStates.undrain),
}
"""The states of nodes that operators set."""

_FILTERS: Final[Mapping[str, Callable[[SlurmJob, str], bool]]] = {
    "partition": lambda job, text: any(each.name in text.split(",") for each in _partitions_now(job)),
    "qos": lambda job, text: job.qos in text.split(",") or job.quality in text.split(","),
    "reservation": lambda job, text: job.reservation == text,
    "state": lambda job, text: job.stage.value.upper() in text.upper().split(","),
    "user": lambda job, text: job.user in text.split(","),
}
"""The options of scancel that choose jobs, but for those of accounts and nodes."""
_LONG_OPTIONS: Final = {
    "A": "account",
    "p": "partition",
    "q": "qos",
    "R": "reservation",
    "s": "signal",
    "t": "state",
    "u": "user",
    "w": "nodelist",
}
_KILLS: Final = frozenset(("KILL", "SIGKILL", "9"))


def _partitions_now(job: SlurmJob) -> tuple[ClusterPartition, ...]:
    """The partition in which a job runs, or those in which it waits."""
    return job.partitions if job.stage is JobStage.PENDING or job.partition is None else (job.partition,)


class _Order:
    """A command that is given to a controller.

    Attributes:
        notes: what of it has no effect, as half sentences.
    """

    def __init__(self, controller: Controller, now: float) -> None:
        self._controller, self._now = controller, now
        self.notes: list[str] = []

    def _known(self, kind: str, name: str, text: str = "") -> str:
        """The name of a word in small letters if it is followed; else "", and what could have an effect is noted."""
        found = _found(kind, name)
        if found is None:
            what = kind if "of" in kind.split() else f"key of a {kind}" if kind in ("job", "node") else f"{kind}"
            names = [full for full, _ in COMMANDS[kind].values()]
            self.notes.append(f"{shown(text or name)} is not known ({what}){hint(name, names)}")
            return ""
        if found[1] is ParameterStanding.MISSED:
            self.notes.append(f"{shown(text or found[0])} is not followed")
        return found[0].lower() if found[1] is ParameterStanding.FOLLOWED else ""

    def _jobs(self, name: str, *, has_ended: bool = False) -> list[SlurmJob]:
        """The jobs of an id: one, or the tasks of an array, all (`7`) or some (`7_[1-3]`); also those that are over.

        The id of a heterogeneous job stands for its components. Each one has a number, too, of which only the first
        stands for all.
        """
        controller = self._controller
        jobs = [*controller.jobs.values(), *(controller.ended_jobs.values() if has_ended else ())]
        ids = set(expanded_names(name)) if "[" in name else {name}
        found = [job for job in jobs if job.own_id in ids]
        found = found or [job for job in jobs if job.array and job.array.rpartition("!")[2] in ids]
        found = found or [job for job in jobs if job.het is not None and job.het.own_id in ids]
        found = found or [job for job in jobs if number_of(job) in ids]
        if not found:
            self.notes.append(f"no job {shown(name)} waits or runs")
        return found

    # scancel

    def scancel(self, words: list[str]) -> None:
        names, filters = list[str](), dict[str, str]()
        words = list(words)
        while words:
            word = words.pop(0)
            if not word.startswith("-"):
                names += _listed(word)
                continue
            option, equals, value = word[2:].partition("=") if word.startswith("--") else (word[1:2], "", word[2:])
            if not (value or equals or option in _WITHOUT_VALUE) and words:
                value = words.pop(0)
            found = _found("options of scancel", option)
            if self._known("options of scancel", option, word):
                filters[_LONG_OPTIONS.get(option, option)] = value
            elif found is None or found[1] is ParameterStanding.MISSED:
                self.notes[-1] += ", so that the command has no effect"
                return
        signal = filters.pop("signal", "KILL")
        if signal.upper() not in _KILLS:
            self.notes.append(f"the signal {shown(signal)} is not followed")
            return
        if not names and not filters:
            raise InputError("expected the ids of jobs behind scancel, or an option that chooses some", "slurm")
        nodes = _nodes(self._controller, filters.pop("nodelist")) if "nodelist" in filters else None
        accounts = filters.pop("account").split(",") if "account" in filters else None
        accounts = None if accounts is None else [each for each in accounts if each]  # `--account=` chooses no job
        chosen = [job for name in names for job in self._jobs(name)] if names else [*self._controller.jobs.values()]
        chosen = [
            job
            for job in chosen
            if all(_FILTERS[key](job, text) for key, text in filters.items())
            and (nodes is None or job.is_on(nodes))
            and (accounts is None or self._controller.rules.account_of(job) in accounts)
        ]
        for job in chosen:
            if job.het is not None and job.stage is JobStage.PENDING and job.het.leader not in chosen:
                self.notes.append(f"{job.own_id} is a component of a heterogeneous job, which is cancelled as a whole")
            else:
                self._controller.cancel(job, self._now)

    # scontrol

    def scontrol(self, words: list[str]) -> None:
        words = list(words)
        while words and words[0].startswith("-"):
            word = words.pop(0)
            found = _found("options of scontrol", word.lstrip("-").partition("=")[0])
            self._known("options of scontrol", word.lstrip("-").partition("=")[0], word)
            if found is None or found[1] is ParameterStanding.MISSED:
                self.notes[-1] += ", so that the command has no effect"
                return
        if not words:
            raise InputError("expected a command behind scontrol", "slurm")
        verb, given = self._known("scontrol", words[0], f"scontrol {words[0]}"), words[1:]
        if not verb:
            return
        if not given:
            raise InputError(f"expected more words behind 'scontrol {verb}'", "slurm")
        if verb in _VERBS:
            for name in (name for word in given for name in _listed(word)):
                jobs = self._jobs(name, has_ended=verb.startswith("requeue"))
                if verb.startswith("requeue") and any(job.het and name != job.het.own_id for job in jobs):
                    self.notes.append(f"{name} is a component of a heterogeneous job, which runs again as a whole")
                    continue
                for job in jobs:
                    self._do(verb, job)
        elif verb == "top":
            jobs = [job for word in given for name in _listed(word) for job in self._jobs(name) if not job.offset]
            self.notes += self._controller.top(jobs, self._now)
        else:
            {"create": self._create, "delete": self._delete, "update": self._update}[verb](given)

    def _do(self, verb: str, job: SlurmJob) -> None:
        why = _VERBS[verb](self._controller, job, self._now)
        if why:
            self.notes.append(f"job {job.own_id} {why}, so that '{verb}' has no effect")

    def _values(self, kind: str, words: list[str]) -> dict[str, str]:
        """The values of the keys that are followed, by names in small letters. `+=` and `-=` are kept in the value."""
        values = dict[str, str]()
        for word in words:
            name, equals, value = word.partition("=")
            sign = name[-1:] if equals and name[-1:] in ("+", "-") else ""
            key = self._known(kind, name.rstrip("+-"), word if len(word) < _LONG else "")
            if key and not equals and key != kind:
                self.notes.append(f"{shown(word)} has no value")
            elif key:
                values[key] = sign + value
        return values

    def _create(self, words: list[str]) -> None:
        kind = _kind_of(words)
        if kind != "reservation":
            self.notes.append(f"'scontrol create' of a {kind} is not followed")
            return
        self._reserve(self._values("reservation", [each for each in words if each.lower() != "reservation"]), None)

    def _delete(self, words: list[str]) -> None:
        kind, name = _kind_of(words), words[0].partition("=")[2] if "=" in words[0] else words[-1]
        if kind != "reservation":
            self.notes.append(f"'scontrol delete' of a {kind} is not followed")
            return
        controller = self._controller
        if controller.reservations.get(name) is None and not controller.rules.licenses.has_reservation(name):
            self.notes.append(f"there is no reservation {shown(name)}")
        controller.rules.licenses.unreserve(name)
        controller.unreserve(name, self._now)

    def _update(self, words: list[str]) -> None:
        kind = _kind_of(words)
        if kind == "reservation":
            self._change_reservation(words)
        elif kind == "partition":
            self._change_partition(self._values("partition", words))
        elif kind == "node":
            self._change_nodes(self._values("node", words))
        elif kind == "job":
            self._change_jobs(self._values("job", words))
        else:
            self.notes.append(f"'scontrol update' of a {kind} is not followed")

    def _change_nodes(self, values: dict[str, str]) -> None:
        controller = self._controller
        state = values.get("state", "").upper()
        change = _STATES.get(state)
        if change is not None:
            change(controller, _nodes(controller, values["nodename"]), self._now)
        elif state:
            self.notes.append(f"the state {shown(state)} of nodes is not followed")
        controller.ask(self._now)

    def _change_partition(self, values: dict[str, str]) -> None:
        controller, name = self._controller, values.pop("partitionname")
        if name not in {each.name for each in controller.cluster.partitions}:
            raise InputError(f"there is no partition {shown(name)}", "slurm")
        fields: dict[str, Any] = {}
        for key, text in values.items():
            if text[:1] in ("+", "-") and key == "nodes":
                self.notes.append(f"{shown('Nodes' + text[0] + '=')} of a partition is not followed")
                continue
            row = RECORDS["partitionname"][key]
            found = row.fields_of(text) if row.field != "nodes" else {"nodes": tuple(_node_names(controller, text))}
            missing = list(missed_by(row.name, {f"partition.{field}": each for field, each in found.items()}))
            if found.get("preempt_mode") == PreemptMode.SUSPEND and controller.cluster.gang is None:
                missing.append("PreemptMode=SUSPEND")
            self.notes += [f"{each} is not followed" for each in missing]
            for pair in _EITHER if not missing else ():
                fields.update(dict.fromkeys(pair if pair & found.keys() else ()))  # Slurm has one number for both
            fields.update({} if missing else found)
        controller.change_partition(name, fields, self._now)
        for job in controller.jobs.values() if "max_memory_per_cpu" in fields else ():
            for each in job.partitions if job.stage is JobStage.PENDING else ():
                if each.name == name:
                    limit_memory(job, each)

    def _change_jobs(self, values: dict[str, str]) -> None:
        controller, now = self._controller, self._now
        if "jobid" not in values:
            raise InputError("expected JobId=", "slurm")
        for job in [job for name in _listed(values["jobid"]) for job in self._jobs(name)]:
            if values.get("priority") == "0":
                controller.hold(job, now)
                continue
            new = self._job_update(job, values)
            late = (
                ""
                if job.stage is JobStage.PENDING
                else ", ".join(sorted({*values} - {"jobid", "timelimit", "requeue"}))
            )
            if late:
                self.notes.append(f"job {job.own_id} does not wait any more, and keeps what it has of {late}")
            controller.update(job, new, now)

    def _job_update(self, job: SlurmJob, values: dict[str, str]) -> JobUpdate:
        """The new values of a job."""
        controller = self._controller
        nodes = values.get("reqnodelist") or values.get("nodelist")
        nice, priority = values.get("nice"), values.get("priority")
        counts = values.get("numnodes") or values.get("reqnodes")
        throttle = values.get("arraytaskthrottle")
        return JobUpdate(
            limit=_limit(job, values["timelimit"]) if "timelimit" in values else None,
            time_min=minutes(values["timemin"]) / 60 if "timemin" in values else None,
            nice=None if nice is None else _number(nice or "100"),
            priority=None if priority is None else _number(priority),
            qos=values.get("qos"),
            account=values.get("account"),
            reservation=values.get("reservationname"),
            partitions=_partitions(controller, values["partition"]) if "partition" in values else None,
            required=_nodes(controller, nodes) if nodes else None,
            excluded=_nodes(controller, values["excnodelist"]) if "excnodelist" in values else None,
            nodes=_range(counts, job.max_nodes) if counts else None,
            dependency=parse_dependency(values["dependency"]) if values.get("dependency") else None,
            is_free=values.get("dependency") == "",
            contiguous=flag(values["contiguous"]) if "contiguous" in values else None,
            requeues=_number(values["requeue"]) > 0 if "requeue" in values else None,
            throttle=None if throttle is None else _number(throttle),
            begin=self._moment(values.get("starttime", values.get("eligibletime"))),
        )

    def _moment(self, text: str | None) -> float | None:
        """A moment of a command; others than `now+60` are noted, as a simulation has no date."""
        if text is None:
            return None
        try:
            found = parse_moment(text)
        except InputError:
            self.notes.append(f"the time {shown(text)} is not followed: expected one such as now+60")
            return None
        return found.of(self._now if text == "now" else float(self._controller.second))

    # Reservations

    def _change_reservation(self, words: list[str]) -> None:
        values = self._values("reservation", words)
        name = values.get("reservationname") or values.get("reservation") or ""
        before = self._controller.reservations.get(name)
        if before is None:
            self.notes.append(f"there is no reservation of nodes {shown(name)}")
            return
        self._reserve(values, before)

    def _reserve(self, values: dict[str, str], before: NodeReservation | None) -> None:
        """Make a reservation of nodes or licences, or change one of nodes."""
        controller = self._controller
        name = values.get("reservationname") or values.get("reservation")
        if not name:
            self.notes.append("a reservation without a name is not followed")
            return
        flags = self._flags(values.get("flags", ""), frozenset() if before is None else before.flags)
        begin = self._moment(values.get("starttime", "now" if before is None else None))
        end = self._moment(values.get("endtime"))
        if ("starttime" in values and begin is None) or ("endtime" in values and end is None):
            self.notes[-1] += f", and the reservation {name} {'is not made' if before is None else 'stays'}"
            return
        start = before.begin if begin is None and before is not None else math.floor(begin or 0.0)
        if end is None:
            whole = before.end if before is not None else math.inf
            end = start + span(values["duration"].lstrip("+-")) if "duration" in values else whole
        if values.get("duration", "")[:1] in ("+", "-") and before is not None:
            change = end - start
            end = before.end + change if values["duration"][0] == "+" else before.end - change
        users = _changed(values.get("users"), () if before is None else before.users)
        accounts = _changed(values.get("accounts"), () if before is None else before.accounts)
        nodes = self._reserved_nodes(values, before, start, end)
        licenses = controller.rules.licenses.reserved_by(name)
        if values.get("licenses"):
            licenses = dict(parse_licenses(values["licenses"]))
        if not (nodes or licenses):
            self.notes.append(f"the reservation {name} has no nodes, and is not made")
            return
        if licenses:
            controller.rules.licenses.reserve(LicenseReservation(name, licenses, start, end))
        made = NodeReservation.of(name, nodes, float(start), end, users, accounts, flags)
        controller.reserve(made, self._now)

    def _flags(self, text: str, before: frozenset[str]) -> frozenset[str]:
        found = [self._known("flag of reservations", each) for each in _listed(text.lstrip("+-"))]
        flags = frozenset(each.upper() for each in found if each)
        if text.startswith("-"):
            return before - flags
        return before | flags if text.startswith("+") or not text else flags

    def _reserved_nodes(self, values: dict[str, str], before: NodeReservation | None, start: float, end: float) -> int:
        """The nodes of a reservation: those of a name, or so many as `NodeCnt` says."""
        controller, text = self._controller, values.get("nodes", "")
        old = 0 if before is None else before.nodes
        if text:
            named = _nodes(controller, text.lstrip("+-"))
            return old | named if text[0] == "+" else old & ~named if text[0] == "-" else named
        if "nodecnt" not in values:
            return old
        within = -1
        if "partitionname" in values:
            within = _partitions(controller, values["partitionname"])[0].nodes
        count = sum(_number(each) for each in _listed(values["nodecnt"].lstrip("+-")))
        if values["nodecnt"][:1] in ("+", "-") or before is not None:
            self.notes.append("NodeCnt of an update is not followed")
            return old
        found = controller.free_nodes(within, start, end)
        if found.bit_count() < count:
            self.notes.append(f"{found.bit_count()} nodes are free for a reservation of {count}")
            return 0
        return lowest(found, count)


_EITHER: Final = (
    frozenset(("max_memory_per_cpu", "max_memory_per_node")),
    frozenset(("memory_per_cpu", "memory_per_node")),
)
"""Fields of a partition of which the last one that is set counts."""
_LONG: Final = 60
"""The most letters of a word that a note has."""
_KINDS: Final = {
    "jobid": "job",
    "job": "job",
    "stepid": "step",
    "reservationname": "reservation",
    "reservation": "reservation",
    "nodename": "node",
    "node": "node",
    "partitionname": "partition",
    "partition": "partition",
    "frontendname": "front end",
    "powercap": "power cap",
    "suspendexcnodes": "list",
    "suspendexcparts": "list",
}
"""The keys that say what a command is about. Of several, the first one here counts, as in Slurm."""


def _kind_of(words: Sequence[str]) -> str:
    """The kind of record that a command is about."""
    keys = {word.partition("=")[0].lower().rstrip("+-") for word in words}
    found = next((kind for key, kind in _KINDS.items() if key in keys), None)
    if found is None:
        raise InputError(f"expected a key such as JobId=, got {shown(' '.join(words[:3]))}", "slurm")
    return found


def _listed(text: str) -> list[str]:
    """The parts of a list with commas, of which those within brackets separate nothing.

    >>> _listed("7,8_[1,3],9")
    ['7', '8_[1,3]', '9']
    """
    return [each for each in re.findall(r"[^,\[\]]+(?:\[[^\[\]]*\])?", text) if each]


def _changed(text: str | None, before: tuple[Any, ...]) -> tuple[Any, ...]:
    """The names of a list after `=`, `+=` or `-=`."""
    if text is None:
        return before
    names = _names(text.lstrip("+")) if text.startswith("+") else _names(text)
    if text.startswith("+"):
        return (*before, *(name for name in names if name not in before))
    if text.startswith("-") and before:
        return tuple(name for name in before if str(name) not in _names(text[1:]))
    return names


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _node_names(controller: Controller, text: str) -> list[str]:
    """The names of nodes in a text, of those that there are."""
    nodes = _nodes(controller, text)
    return [node.name for number, node in enumerate(controller.cluster.nodes) if nodes >> number & 1]


def _nodes(controller: Controller, text: str) -> int:
    """The nodes of these names that there are."""
    numbers = {node.name: number for number, node in enumerate(controller.cluster.nodes)}
    names = numbers if text.upper() == "ALL" else expanded_names(text) if text else ()
    return bits_of(numbers[name] for name in names if name in numbers)


def _number(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
        raise InputError(f"expected a whole number, got {shown(text)}", "slurm")
    return int(text)


def _range(text: str, most: float) -> tuple[int, float]:
    """The least number of nodes, and the most: with one number, the most stays, as a real Slurm has it."""
    first, dash, last = text.partition("-")
    least = _number(first)
    most = _number(last) if dash else max(most, least)
    if not 1 <= least <= most:
        raise InputError(f"expected a number of nodes such as 2 or 2-4, got {shown(text)}", "slurm")
    return least, most


def _limit(job: SlurmJob, text: str) -> float:
    """A time limit in minutes: as it is, or more or less than that of a job (`+5`)."""
    given = minutes(text.lstrip("+-")) / 60
    if text.startswith("+"):
        return job.limit + given
    return max(job.limit - given, 1) if text.startswith("-") else given


def _partitions(controller: Controller, text: str) -> tuple[ClusterPartition, ...]:
    known = {each.name: each for each in controller.cluster.partitions}
    for name in _names(text):
        if name not in known:
            raise InputError(f"there is no partition {shown(name)}{hint(name, known)}")
    return tuple(known[name] for name in _names(text))
