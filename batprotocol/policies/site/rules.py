"""The rules of a site: partitions, qualities of service, accounts and limits, from a TOML file or from Python.

Names and meanings are those of Slurm where it has them. Times and weights of resources are written as Slurm writes
them. The functions at the end say what the rules mean for a job.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, get_args, get_origin

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.model import Host, ParallelTaskHomogeneousProfile
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies.jobs import SiteJob
from batprotocol.workloads.host_events import MAINT, HostStates, Window
from batprotocol.workloads.requests import Moment, Request, expanded_names
from batprotocol.workloads.requests import OfferedHosts as Machine
from batprotocol.workloads.requests.notation import parse_memory

# The tables of a site's file as values: each is checked with its place, and misspelt keys with the near name.


Made = TypeVar("Made", bound=msgspec.Struct)

_WEIGHT: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})([KMGT])?", re.ASCII | re.IGNORECASE)
_TIMES: Final = frozenset(
    {"max_time", "default_time", "grace", "max_age", "decay_half_life", "calc_period", "begin", "end"}
)
_WEIGHTS: Final = frozenset({"tres_billing_weights", "weight_tres"})
_RESOURCES: Final = ("cpu", "mem", "node", "gres/gpu")
_MOST: Final = 1e15
_GRES: Final = re.compile(r"gres/[A-Za-z_][\w.-]{0,60}(?::[\w.-]{1,60})?", re.ASCII)


def converted(tables: Mapping[str, Any], made: type[Made]) -> Made:
    """The values of tables, as a TOML file has them.

    Raises:
        InputError: a key is unknown, or a value is not one that it can have; `path` is the key.
    """
    value: Made = msgspec.convert(_checked(tables, made, ""), made)
    return value


def _checked(value: Any, kind: Any, path: str) -> Any:
    """A value with times and weights as numbers, if it can be of that type."""
    name = path.rpartition(".")[2]
    if name in _TIMES and isinstance(value, str):
        value = seconds_of(value, path)
    elif name in _WEIGHTS:
        value = weights_of(value, path)
    if isinstance(kind, UnionType):  # with None, which tables cannot say
        kind = next(each for each in get_args(kind) if each is not type(None))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, Mapping):
        kinds = {field.name: field.type for field in msgspec.structs.fields(kind)}
        for key in value:
            if key not in kinds:
                raise InputError(f"there is no key {shown(key)}{hint(key, kinds)}", path)
        return {key: _checked(inner, kinds[key], _joined(path, key)) for key, inner in value.items()}
    if get_origin(kind) is dict and isinstance(value, Mapping):
        return {key: _checked(inner, get_args(kind)[1], _joined(path, key)) for key, inner in value.items()}
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text, _, rest = str(error).partition(" - at `$")
        text = text[:1].lower() + text[1:].replace("`object`", "a table")
        got = f", got {shown(value)}" if text.startswith("expected") and ", got" not in text else ""
        raise InputError(text + got, path + rest.rstrip("`")) from None
    return value


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def seconds_of(text: str, path: str = "") -> float:
    """A time as Slurm writes it, in seconds: minutes, `mm:ss`, `hh:mm:ss`, `d-hh`, `d-hh:mm:ss`, or `UNLIMITED`.

    >>> seconds_of("1-12:00:00"), seconds_of("30"), seconds_of("1:30:00")
    (129600.0, 1800.0, 5400.0)
    """
    from batprotocol.sites.slurm.texts import span  # whoever has no site's rules can be without Slurm's texts

    try:
        return span(text)
    except InputError:
        expected = "expected seconds as a number, or a time such as '1-12:00:00'"
        raise InputError(f"{expected}, got {shown(text)}", path) from None


def weights_of(value: Any, path: str = "") -> dict[str, float]:
    """The weights of trackable resources (TRES), by name in lower case: `cpu`, `mem`, `node` and `gres/NAME`.

    The weight of memory counts for a mebibyte, or with a unit for that unit.

    Args:
        value: Slurm's text, or a table.
        path: the key, for errors.

    >>> weights_of("CPU=1.0,Mem=0.25G,GRES/gpu=2.0") == weights_of({"cpu": 1, "mem": 0.25 / 1024, "gres/gpu": 2})
    True

    Raises:
        InputError: a resource is unknown, or its weight is not a number >= 0.
    """
    if isinstance(value, str):
        pairs = [(name.strip(), weight.strip()) for name, _, weight in (part.partition("=") for part in _parts(value))]
    elif isinstance(value, Mapping):
        pairs = [(str(name), weight) for name, weight in value.items()]
    else:
        raise InputError(f"expected a table, or a text such as 'CPU=1.0,Mem=0.25G', got {shown(value)}", path)
    weights: dict[str, float] = {}
    for name, weight in pairs:
        known = name.lower() if name.lower() in _RESOURCES else f"gres/{name[5:]}"
        if known not in _RESOURCES and not (name[:5].lower() == "gres/" and _GRES.fullmatch(known)):
            near = hint(name, _RESOURCES) or f"; there are {', '.join(_RESOURCES[:3])} and gres/NAME"
            raise InputError(f"there is no resource {shown(name)}{near}", path)
        number, unit = _number(weight)
        if not 0 <= number <= _MOST or (unit and known != "mem"):
            example = ", with a unit such as '0.25G' if need be" if known == "mem" else ""
            raise InputError(f"expected a number >= 0{example}, got {shown(weight)}", _joined(path, name))
        weights[known] = number / (parse_memory(f"1{unit}") / 2**20 if unit else 1.0)
    return weights


def _number(weight: Any) -> tuple[float, str]:
    """A weight as a number and its unit; not a number if it is neither a number nor a text of this form."""
    if isinstance(weight, int | float) and not isinstance(weight, bool):
        return float(weight), ""
    found = _WEIGHT.fullmatch(weight) if isinstance(weight, str) else None
    return (float(found[1]), found[2] or "") if found else (math.nan, "")


def _parts(text: str) -> list[str]:
    return [part for part in text.split(",") if part.strip()]


Preemption = Literal["off", "cancel", "requeue", "checkpoint"]
"""The fate of jobs that give way: none do; they are killed; they run again from their start, or from their progress."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
_Time = Annotated[float, msgspec.Meta(ge=0)]
_Grace = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
_Above = Annotated[float, msgspec.Meta(gt=0)]
_Weight = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
_DAY: Final = 86400.0
_SHOWN: Final = 6
"""The number of qualities in a circle that a message names."""


class _RulesTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class Limits(_RulesTable, frozen=True, kw_only=True):
    """The most that jobs may have or be at a time; None: not limited.

    Attributes:
        running: running jobs (GrpJobs).
        waiting: waiting jobs; a job beyond that is rejected (GrpSubmit).
        hosts: hosts of running jobs, each counted once for each job (GrpTRES=node).
        cores: cores of running jobs (GrpTRES=cpu). A job of whole hosts counts all their cores. Until it starts, it
            counts those of the largest hosts that it can have; hosts that are too large for the limit are left out.
        gpus: generic resources named `gpu` of running jobs (GrpTRES=gres/gpu).
    """

    running: _Count | None = None
    waiting: _Count | None = None
    hosts: _Count | None = None
    cores: _Count | None = None
    gpus: _Count | None = None


class Partition(_RulesTable, frozen=True, kw_only=True):
    """A partition: hosts, limits of each job, and who may use it.

    Attributes:
        hosts: the names of its hosts, `n[0-63]`, or `ALL`; None: those whose property `partitions` names it (Nodes).
        default: whether jobs that name no partition run here (Default).
        max_time: the longest walltime in seconds (MaxTime). A job without a walltime is killed after it.
        default_time: the seconds after which a job without a walltime is killed; None: `max_time` (DefaultTime).
        min_hosts: the fewest hosts of a job (MinNodes).
        max_hosts: the most hosts of a job (MaxNodes).
        tier: jobs of a higher tier come first, and can preempt (PriorityTier).
        priority: the partition's factor of `multifactor` (PriorityJobFactor).
        preempt: the fate of its jobs that give way to a higher tier (PreemptMode).
        grace: seconds between the decision to preempt and the kill (GraceTime).
        allow_accounts: the accounts that may use it; None: all (AllowAccounts).
        allow_groups: the groups that may use it; None: all (AllowGroups).
        allow_qos: the qualities of service that may use it; None: all (AllowQos).
        exclusive: whether its jobs share no host (OverSubscribe=EXCLUSIVE).
        tres_billing_weights: the weights of resources by which its jobs are charged; None: those of `priority`
            (TRESBillingWeights).
    """

    hosts: str | None = None
    default: bool = False
    max_time: _Time = math.inf
    default_time: _Time | None = None
    min_hosts: _Count = 0
    max_hosts: _Count | None = None
    tier: _Count = 1
    priority: _Weight = 1.0
    preempt: Preemption = "off"
    grace: _Grace = 0.0
    allow_accounts: tuple[str, ...] | None = None
    allow_groups: tuple[str, ...] | None = None
    allow_qos: tuple[str, ...] | None = None
    exclusive: bool = False
    tres_billing_weights: dict[str, _Weight] | None = None


class Qos(_RulesTable, frozen=True, kw_only=True):
    """A quality of service.

    Attributes:
        priority: its factor of `multifactor`, compared with the largest one (Priority).
        preempts: the qualities whose jobs give way to jobs of this one (Preempt). Where a partition preempts by tier,
            jobs of a higher tier do not.
        preempt: the fate of its jobs that give way (PreemptMode).
        grace: seconds between the decision to preempt and the kill (GraceTime).
        max_time: the longest walltime in seconds (MaxWall). A job without a walltime is killed after it.
        usage_factor: a factor of the usage that fair share charges (UsageFactor).
        limits: the limits of all its jobs together (GrpTRES...).
        per_user: the limits of its jobs of each user (MaxTRESPerUser...).
        per_account: the limits of its jobs of each account (MaxTRESPerAccount...).
    """

    priority: _Weight = 0.0
    preempts: tuple[str, ...] = ()
    preempt: Preemption = "requeue"
    grace: _Grace = 0.0
    max_time: _Time = math.inf
    usage_factor: _Weight = 1.0
    limits: Limits = Limits()
    per_user: Limits = Limits()
    per_account: Limits = Limits()


class Account(_RulesTable, frozen=True, kw_only=True):
    """An account, in a tree of accounts.

    Attributes:
        parent: the account above it; None: the root.
        shares: its part of its parent's share, compared with its siblings: accounts and users (Fairshare).
        users: the users below it, each with shares. A user who is not in it has 1 share from their first job on.
        limits: the limits of all jobs of the account and those below it.
        per_user: the limits of the account's jobs of each user.
    """

    parent: str | None = None
    shares: _Weight = 1.0
    users: dict[str, _Weight] = {}
    limits: Limits = Limits()
    per_user: Limits = Limits()


class Priority(_RulesTable, frozen=True, kw_only=True):
    """The priority of the order `multifactor`: a weighted sum of factors between 0 and 1, minus the job's `nice`.

    All weights are 0 by default, as in Slurm. `batprotocol.policies.fair_share` has the formulas.

    Attributes:
        weight_age: the weight of the waiting time since the job could start (PriorityWeightAge).
        weight_fairshare: the weight of the fair share of the job's user and account (PriorityWeightFairshare).
        weight_job_size: the weight of the fraction of hosts and cores (PriorityWeightJobSize).
        weight_partition: the weight of the partition's `priority` (PriorityWeightPartition).
        weight_qos: the weight of the `priority` of the quality of service (PriorityWeightQOS).
        weight_tres: the weights of the fractions of the partition's resources, `"CPU=1000,GRES/gpu=2000"`
            (PriorityWeightTRES).
        max_age: the waiting time in seconds from which on the age factor is 1 (PriorityMaxAge).
        decay_half_life: usage that is this many seconds old counts half; 0: usage does not decay
            (PriorityDecayHalfLife).
        calc_period: the fair share is computed anew when the last one is this many seconds old; 0: for each decision.
            Slurm's own default is 300 (PriorityCalcPeriod).
        fair_tree: whether the fair share is that of Fair Tree, or else the classic one (PriorityFlags=NO_FAIR_TREE).
        fair_share_dampening_factor: the larger it is, the less usage counts in the classic fair share
            (FairShareDampeningFactor).
        favor_small: whether small jobs have the larger size factor (PriorityFavorSmall).
        small_relative_to_time: whether the size factor is divided by the walltime in minutes
            (PriorityFlags=SMALL_RELATIVE_TO_TIME).
        tres_billing_weights: the weights of resources by which jobs are charged; empty: a job is charged its cores
            (TRESBillingWeights).
        max_tres: whether a job is charged the largest of its weighted resources instead of their sum
            (PriorityFlags=MAX_TRES).

    >>> tables = {"weight_fairshare": 1000, "decay_half_life": "7-0", "tres_billing_weights": "CPU=1.0,Mem=0.25G"}
    >>> SiteRules.of({"priority": tables}).priority.decay_half_life
    604800.0
    """

    weight_age: _Weight = 0.0
    weight_fairshare: _Weight = 0.0
    weight_job_size: _Weight = 0.0
    weight_partition: _Weight = 0.0
    weight_qos: _Weight = 0.0
    weight_tres: dict[str, _Weight] = {}
    max_age: _Above = 7 * _DAY
    decay_half_life: _Time = 7 * _DAY
    calc_period: _Time = 0.0
    fair_tree: bool = True
    fair_share_dampening_factor: _Above = 1.0
    favor_small: bool = False
    small_relative_to_time: bool = False
    tres_billing_weights: dict[str, _Weight] = {}
    max_tres: bool = False


class Reservation(_RulesTable, frozen=True, kw_only=True):
    """Hosts that are promised for a time: a window that is known from the beginning of the simulation.

    With users or accounts, only their jobs that name it run there; with both, a job needs a user and an account of it.
    Without, no job runs there.

    Attributes:
        hosts: the names of its hosts, `n[0-3]`, or `ALL` (Nodes).
        begin: when it begins, in seconds of the simulation (StartTime).
        end: when it ends, > `begin`; infinity: never (EndTime).
        users: the users whose jobs may run in it (Users).
        accounts: the accounts whose jobs may run in it (Accounts).
        maintenance: whether it is planned maintenance (Flags=MAINT).
    """

    hosts: str = "ALL"
    begin: _Grace = 0.0
    end: _Time = math.inf
    users: tuple[str | int, ...] = ()
    accounts: tuple[str, ...] = ()
    maintenance: bool = False


class SiteRules(_RulesTable, frozen=True, kw_only=True):
    """The rules of a site. A file has the same keys as tables: `[partitions.batch]`, `[qos.high]`...

    Attributes:
        partitions: the partitions by name. Those that only properties of hosts name have no limits.
        qos: the qualities of service by name.
        accounts: the accounts by name.
        reservations: the reservations by name.
        per_user: the limits of each user.
        limits: the limits of all jobs together.
        priority: the priority of the order `multifactor`; None: that order without a site.
        order_of_victims: which jobs are preempted first: those that lose the `least` work, the `youngest` ones, or
            those of the lowest `priority`.

    >>> rules = SiteRules.of({"partitions": {"debug": {"hosts": "n[0-3]", "max_time": "30:00", "tier": 2}}})
    >>> rules.partitions["debug"].max_time
    1800.0
    """

    partitions: dict[str, Partition] = {}
    qos: dict[str, Qos] = {}
    accounts: dict[str, Account] = {}
    reservations: dict[str, Reservation] = {}
    per_user: Limits = Limits()
    limits: Limits = Limits()
    priority: Priority | None = None
    order_of_victims: Literal["least", "youngest", "priority"] = "least"

    @classmethod
    def of(cls, tables: Mapping[str, Any]) -> SiteRules:
        """The rules that tables describe, as a TOML file has them.

        Raises:
            InputError: a key is unknown, or a value is not one that it can have; `path` is the key.
        """
        rules = converted(tables, cls)
        rules.check()
        return rules

    def check(self) -> None:
        """Refuse what no value alone shows: names that do not exist, contradictions, and circles.

        Raises:
            InputError: a name does not exist, a value contradicts another one, an account is above itself, or jobs
                could preempt each other in turns.
        """
        for name, partition in self.partitions.items():
            for low, high in (("default_time", "max_time"), ("min_hosts", "max_hosts")):
                least, most = getattr(partition, low), getattr(partition, high)
                if least is not None and most is not None and least > most:
                    raise InputError(f"expected at most {high} = {most:g}, got {least:g}", f"partitions.{name}.{low}")
            _check_names(partition.hosts, f"partitions.{name}.hosts")
        for name, reservation in self.reservations.items():
            begin, end = reservation.begin, reservation.end
            if end <= begin:
                raise InputError(
                    f"expected a time after the begin, {begin:.15g}, got {end:.15g}", f"reservations.{name}.end"
                )
            _check_names(reservation.hosts, f"reservations.{name}.hosts")
        for name, qos in self.qos.items():
            for other in qos.preempts:
                if other not in self.qos:
                    raise InputError(
                        f"there is no quality of service {other!r}{hint(other, self.qos)}", f"qos.{name}.preempts"
                    )
        try:
            TopologicalSorter({name: qos.preempts for name, qos in self.qos.items()}).prepare()
        except CycleError as error:
            names = error.args[1][::-1]
            chain = " preempts ".join(map(repr, names if len(names) <= _SHOWN else [*names[:_SHOWN], "...", names[-1]]))
            raise InputError(
                f"expected qualities of service that do not preempt each other, got {chain}", f"qos.{names[0]}.preempts"
            ) from None
        for name, account in self.accounts.items():
            seen = {name}
            while account.parent is not None:
                if account.parent not in self.accounts:
                    near = hint(account.parent, self.accounts)
                    raise InputError(f"there is no account {account.parent!r}{near}", f"accounts.{name}.parent")
                if account.parent in seen:
                    raise InputError(f"account {account.parent!r} is above itself", f"accounts.{name}.parent")
                seen.add(account.parent)
                account = self.accounts[account.parent]
        if sum(partition.default for partition in self.partitions.values()) > 1:
            raise InputError("expected one default partition at most", "partitions")

    @property
    def can_preempt(self) -> bool:
        """Whether any job can give way to another one."""
        by_tier = any(partition.preempt != "off" for partition in self.partitions.values())
        return by_tier or any(qos.preempts for qos in self.qos.values())


def _check_names(hosts: str | None, path: str) -> None:
    """Refuse names of hosts that cannot be read, with the place. Only the platform shows which hosts there are."""
    try:
        expanded_names("ALL" if hosts is None else hosts)
    except InputError as error:
        raise InputError(error.reason, path) from None


def read_site(path: str | os.PathLike[str]) -> SiteRules:
    """The rules of a TOML file.

    Args:
        path: the file.

    Raises:
        InputError: the file is not TOML, or describes no rules; with the key.
        OSError: the file cannot be read.
    """
    with open(path, "rb") as stream:
        data = stream.read()
    try:
        tables = msgspec.toml.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:  # a number can have too many digits
        raise InputError(f"expected TOML: {error}", file=os.fspath(path)) from None
    try:
        return SiteRules.of(tables)
    except InputError as error:
        raise InputError(error.reason, error.path, file=os.fspath(path)) from None


# The partitions of a site: the hosts of each, the jobs that it takes and for how long, and the hosts of tasks.


_LATEST: Final = 2.0**53
"""A window without an end ends then."""
_LAST_START: Final = 2.0**50
"""A policy asks for no call after this many seconds."""

ANY: Final = Partition()
"""A partition without limits."""


def anywhere(request: Request) -> Request:
    """The request without its partitions, whose hosts the rules may define."""
    return msgspec.structs.replace(request, partition=()) if request.partition else request


def partitions_of(hosts: tuple[Host, ...], machine: Machine, rules: SiteRules) -> dict[str, frozenset[int]]:
    """The hosts of each partition, by the rules and by the properties of hosts."""
    numbers = {host.name: host.id for host in hosts}
    members: dict[str, set[int]] = {name: set() for name in rules.partitions}
    for offer in machine.offers:
        for name in offer.partitions:
            members.setdefault(name, set()).add(offer.id)
    for name, partition in rules.partitions.items():
        if partition.hosts is not None:
            members[name] |= _numbers_of(partition.hosts, numbers, f"partitions.{name}.hosts")
        if not members[name]:
            raise InputError("the partition has no hosts", f"partitions.{name}")
    return {name: frozenset(found) for name, found in members.items()}


def _numbers_of(text: str, numbers: Mapping[str, int], path: str) -> set[int]:
    """The numbers of the hosts that a text of the rules names."""
    if text.upper() == "ALL":
        return set(numbers.values())
    names = expanded_names(text)
    missing = next((name for name in names if name not in numbers), None)
    if missing is not None:
        raise InputError(f"the platform has no host {missing!r}", path)
    return {numbers[name] for name in names}


def windows_of(hosts: tuple[Host, ...], rules: SiteRules) -> list[Window]:
    """The reservations of the rules as windows, by their begins.

    Raises:
        InputError: the platform does not have a host, or two reservations overlap.
    """
    numbers = {host.name: host.id for host in hosts}
    states = HostStates(max(numbers.values(), default=-1) + 1)
    found = []
    for name, each in sorted(rules.reservations.items(), key=lambda item: item[1].begin):
        window = Window(
            frozen_hosts(_numbers_of(each.hosts, numbers, f"reservations.{name}.hosts")),
            *(each.begin, min(each.end, _LATEST), name, each.users, each.accounts),
            frozenset({MAINT} if each.maintenance else ()),
        )
        try:
            states.take(0.0, window)
        except InputError as error:
            raise InputError(error.reason, f"reservations.{name}") from None
        found.append(window)
    return found


def default_of(rules: SiteRules, members: Mapping[str, frozenset[int]]) -> tuple[str, ...]:
    """The partition of jobs that name none."""
    for name, partition in rules.partitions.items():
        if partition.default:
            return (name,)
    return tuple(members) if len(members) == 1 else ()


def refusal_of_partition(name: str, partition: Partition, job: SiteJob) -> str | None:
    """Why a partition does not take a job, as the end of a sentence; None if it does."""
    request, size = job.request, job.size
    if job.walltime < math.inf and job.walltime > partition.max_time:
        return f"its walltime is {job.walltime:g} s, and partition {name} allows {partition.max_time:g} s"
    if partition.max_hosts is not None and size > partition.max_hosts:
        return f"it asks for {size} hosts, and partition {name} allows {partition.max_hosts}"
    if size < partition.min_hosts:
        return f"it asks for {size} hosts, and partition {name} takes jobs of {partition.min_hosts} or more"
    for what, value, allowed in (
        ("account", request.account, partition.allow_accounts),
        ("group", request.group, partition.allow_groups),
        ("QOS", request.qos, partition.allow_qos),
    ):
        if allowed is not None and str(value) not in allowed:
            return f"partition {name} is for {what} {', '.join(allowed)}, and its {what} is {value}"
    return None


def refusal_of_names(rules: SiteRules, request: Request) -> str | None:
    """Why the rules do not know a name of a request, as the end of a sentence; None if they know all."""
    if rules.qos and request.qos is not None and request.qos not in rules.qos:
        return f"there is no QOS {request.qos!r}; there are {', '.join(sorted(rules.qos))}"
    if rules.accounts and request.account is not None and request.account not in rules.accounts:
        return f"there is no account {request.account!r}; there are {', '.join(sorted(rules.accounts))}"
    return None


def fixed(request: Request, submitted: float) -> Request:
    """The request of a job whose begin and deadline do not move with its time of submission."""
    if request.begin is None and request.deadline is None:
        return request
    moments = {
        key: Moment(moment.of(submitted), False)
        for key, moment in (("begin", request.begin), ("deadline", request.deadline))
        if moment is not None
    }
    return msgspec.structs.replace(request, **moments)


def refusal_of_begin(job: SiteJob) -> str | None:
    """Why a job can never begin, as the end of a sentence; None if it can."""
    begin = 0.0 if job.request.begin is None else job.request.begin.of(job.submitted)
    return f"it begins at {begin:g} s, and no job starts after 2^50 s" if begin >= _LAST_START else None


def refusal_of_deadline(job: SiteJob, now: float) -> str | None:
    """Why a job that does not run by a time misses its deadline, as the end of a sentence; None if it does not."""
    deadline = job.request.deadline
    if deadline is None:
        return None
    begin = now if job.request.begin is None else max(now, job.request.begin.of(job.submitted))
    end = begin + (0.0 if math.isinf(job.walltime) else job.walltime)
    latest = deadline.of(job.submitted)
    return f"it would end at {end:g} s at the earliest, and its deadline is {latest:g} s" if end > latest else None


def longest_of_qos(rules: SiteRules, request: Request) -> float:
    """The longest walltime that the quality of service of a request allows, in seconds."""
    qos = None if request.qos is None else rules.qos.get(request.qos)
    return math.inf if qos is None else qos.max_time


def time_limit(job: SiteJob, partition: Partition, rules: SiteRules) -> float:
    """The seconds after which a job is killed in a partition; infinity: never.

    That is its walltime. Without one, it is the partition's `default_time`, or else its `max_time`, and at most the
    `max_time` of the quality of service, as in Slurm.
    """
    if job.walltime < math.inf:
        return job.walltime
    usual = partition.max_time if partition.default_time is None else partition.default_time
    return min(usual, longest_of_qos(rules, job.request))


def mapping_of(job: SiteJob, hosts: list[int]) -> list[int] | None:
    """For a job with tasks: the host of each task, as an index into its hosts; None: one executor for each host."""
    tasks = job.request.tasks
    if tasks is None or not isinstance(job.profile, ParallelTaskHomogeneousProfile):
        return None
    each = math.ceil(tasks / len(hosts))
    return [task // each for task in range(tasks)]
