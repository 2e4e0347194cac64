"""The accounts, users and qualities of service of a Slurm site, with their shares and limits, as sacctmgr prints them.

Both a dump of a cluster and the tables of `sacctmgr show` are read.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from batprotocol._util.deprecation import old_names
from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.slurm.texts import amount, listed, number_of, one_word, real, span, text_of, tres

__all__ = ["Accounting", "AccountingLimits", "SlurmAssociation", "SlurmQos", "accounting_of", "read_accounting"]


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the accounting."""


class AccountingLimits(_Value, frozen=True, kw_only=True):
    """The most that jobs may have or be; an association has the first two groups, a quality of service all.

    Amounts of resources are by name in small letters: `cpu`, `node`, `mem`, `gres/gpu`...

    Attributes:
        jobs: running jobs of all below it (GrpJobs).
        submitted: running and waiting jobs of all below it (GrpSubmitJobs).
        accruing: waiting jobs of all below it that age (GrpJobsAccrue).
        tres: resources of all running jobs below it (GrpTRES).
        tres_minutes: resources multiplied with minutes, of all jobs below it, with decay (GrpTRESMins).
        tres_run_minutes: the same of the rest of the limits of running jobs (GrpTRESRunMins).
        wall: the seconds that all jobs below it may run together, with decay (GrpWall).
        jobs_each: running jobs of each user in an account (MaxJobs).
        submitted_each: running and waiting jobs of each user in an account (MaxSubmitJobs).
        accruing_each: waiting jobs of each user that age (MaxJobsAccrue).
        tres_job: resources of each job (MaxTRES).
        tres_node: resources of each job on a node (MaxTRESPerNode).
        tres_minutes_job: resources multiplied with minutes, of each job (MaxTRESMins).
        wall_job: the longest time limit, in seconds (MaxWall).
        tres_user: resources of running jobs of each user (MaxTRESPU).
        jobs_user: running jobs of each user (MaxJobsPU).
        submitted_user: running and waiting jobs of each user (MaxSubmitPU).
        tres_account: resources of running jobs of each account (MaxTRESPA).
        jobs_account: running jobs of each account (MaxJobsPA).
        submitted_account: running and waiting jobs of each account (MaxSubmitPA).
        least: the fewest resources of a job (MinTRES).
    """

    jobs: int | None = None
    submitted: int | None = None
    accruing: int | None = None
    tres: Mapping[str, int] = {}
    tres_minutes: Mapping[str, int] = {}
    tres_run_minutes: Mapping[str, int] = {}
    wall: float | None = None
    jobs_each: int | None = None
    submitted_each: int | None = None
    accruing_each: int | None = None
    tres_job: Mapping[str, int] = {}
    tres_node: Mapping[str, int] = {}
    tres_minutes_job: Mapping[str, int] = {}
    wall_job: float | None = None
    tres_user: Mapping[str, int] = {}
    jobs_user: int | None = None
    submitted_user: int | None = None
    tres_account: Mapping[str, int] = {}
    jobs_account: int | None = None
    submitted_account: int | None = None
    least: Mapping[str, int] = {}

    def hidden_by(self, others: AccountingLimits) -> AccountingLimits:
        """The limits for which others have none, of a number or of a resource: others come first, and hide the rest.

        >>> mine = AccountingLimits(jobs=3, wall=60.0, tres={"cpu": 4, "node": 2})
        >>> left = mine.hidden_by(AccountingLimits(jobs=9, tres={"cpu": 8}))
        >>> left.jobs, left.wall, dict(left.tres)
        (None, 60.0, {'node': 2})
        """
        values: dict[str, Any] = {}
        for name in self.__struct_fields__:
            mine, other = getattr(self, name), getattr(others, name)
            if isinstance(mine, Mapping):
                values[name] = {key: value for key, value in mine.items() if key not in other}
            elif other is None:
                values[name] = mine
        return AccountingLimits(**values)

    def filled(self, others: AccountingLimits) -> AccountingLimits:
        """The limits, and those of others where there are none."""
        values: dict[str, Any] = {}
        for name in self.__struct_fields__:
            mine, other = getattr(self, name), getattr(others, name)
            values[name] = {**other, **mine} if isinstance(mine, Mapping) else other if mine is None else mine
        return AccountingLimits(**values)


class SlurmAssociation(_Value, frozen=True, kw_only=True):
    """An account, or a user in an account.

    Attributes:
        account: the account.
        user: the user; None: the account itself.
        partition: the partition for which a user's association holds; None: all others.
        parent: the account above an account; None for the root, and for users.
        shares: its part of the shares of its siblings (Fairshare); None: it has those of its parent.
        priority: its priority; None: that of its parent (Priority).
        limits: its limits.
        qos: the qualities of service that its jobs may have; None: those of its parent.
        default_qos: the quality of service of jobs that name none; None: that of its parent (DefaultQOS).
    """

    account: str
    user: str | None = None
    partition: str | None = None
    parent: str | None = None
    shares: int | None = 1
    priority: int | None = None
    limits: AccountingLimits = AccountingLimits()
    qos: tuple[str, ...] | None = None
    default_qos: str | None = None


class SlurmQos(_Value, frozen=True, kw_only=True):
    """A quality of service.

    Attributes:
        name: its name.
        priority: its priority (Priority).
        grace_time: seconds between a preemption and the kill of its jobs (GraceTime).
        preempts: the qualities whose jobs give way to its jobs (Preempt).
        preempt_mode: the fate of its jobs that are preempted; None: that of the cluster (PreemptMode).
        exempt_time: seconds that its jobs may run before they are preempted; None: that of the cluster.
        flags: its flags, such as `DenyOnLimit` (Flags).
        usage_factor: a factor of the usage that its jobs are charged (UsageFactor).
        usage_threshold: jobs of associations with a smaller fair-share factor do not start (UsageThreshold).
        limits: its limits.
    """

    name: str
    priority: int = 0
    grace_time: float = 0.0
    preempts: tuple[str, ...] = ()
    preempt_mode: str | None = None
    exempt_time: float | None = None
    flags: tuple[str, ...] = ()
    usage_factor: float = 1.0
    usage_threshold: float | None = None
    limits: AccountingLimits = AccountingLimits()


class Accounting(_Value, frozen=True, kw_only=True):
    """The accounting of a cluster.

    Attributes:
        cluster: the name of the cluster.
        associations: accounts and users; an account comes before all below it, and the root is the first.
        qos: the qualities of service, by name.
        default_accounts: the account of each user's jobs that name none.
        not_followed: the columns and options that are not followed, with file and line.
    """

    cluster: str = ""
    associations: tuple[SlurmAssociation, ...] = (SlurmAssociation(account="root"),)
    qos: Mapping[str, SlurmQos] = {}
    default_accounts: Mapping[str, str] = {}
    not_followed: tuple[str, ...] = ()


# Options of a dump, and columns of tables


_MOST: Final = 2**53


def _plain(name: str) -> str:
    """A name of a column or an option without spaces, in small letters: `Def _QOS` is `defqos`."""
    return name.replace(" ", "").replace("_", "").lower()


def _count(text: str) -> int:
    return number_of(text, 0, _MOST)


def _wall(text: str) -> float | None:
    seconds = span(text)
    return None if math.isinf(seconds) else seconds


def _amounts(text: str) -> dict[str, int]:
    """Amounts of resources, `cpu=10,mem=4G`: memory in MiB, and a unit multiplies others."""
    found: dict[str, int] = {}
    for name, number in tres(text).items():
        count = amount(number)
        if name.lower() == "mem" and number[-1:].isalpha():
            count = -(-count // 2**20)
        found[name.lower()] = min(count, _MOST)
    return found


def _shares(text: str) -> int | None:
    return None if text.lower() == "parent" else number_of(text, 0, 2**31 - 1)


def _mode(text: str) -> str | None:
    return None if text.lower() == "cluster" else text.lower()


_LIMITS: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    **dict.fromkeys(("grpjobs",), ("jobs", _count)),
    **dict.fromkeys(("grpsubmit", "grpsubmitjobs"), ("submitted", _count)),
    **dict.fromkeys(("grpjobsaccrue",), ("accruing", _count)),
    **dict.fromkeys(("grptres",), ("tres", _amounts)),
    **dict.fromkeys(("grptresmins",), ("tres_minutes", _amounts)),
    **dict.fromkeys(("grptresrunmins",), ("tres_run_minutes", _amounts)),
    **dict.fromkeys(("grpwall",), ("wall", _wall)),
    **dict.fromkeys(("maxjobs",), ("jobs_each", _count)),
    **dict.fromkeys(("maxsubmit", "maxsubmitjobs"), ("submitted_each", _count)),
    **dict.fromkeys(("maxjobsaccrue",), ("accruing_each", _count)),
    **dict.fromkeys(("maxtres", "maxtresperjob"), ("tres_job", _amounts)),
    **dict.fromkeys(("maxtrespernode",), ("tres_node", _amounts)),
    **dict.fromkeys(("maxtresmins", "maxtresminsperjob"), ("tres_minutes_job", _amounts)),
    **dict.fromkeys(("maxwall", "maxwalldurationperjob"), ("wall_job", _wall)),
    **dict.fromkeys(("maxtrespu", "maxtresperuser"), ("tres_user", _amounts)),
    **dict.fromkeys(("maxjobspu", "maxjobsperuser"), ("jobs_user", _count)),
    **dict.fromkeys(("maxsubmitpu", "maxsubmitjobsperuser"), ("submitted_user", _count)),
    **dict.fromkeys(("maxtrespa", "maxtresperaccount"), ("tres_account", _amounts)),
    **dict.fromkeys(("maxjobspa", "maxjobsperaccount"), ("jobs_account", _count)),
    **dict.fromkeys(("maxsubmitpa", "maxsubmitjobsperaccount"), ("submitted_account", _count)),
    **dict.fromkeys(("mintres", "mintresperjob"), ("least", _amounts)),
}
"""The fields of `Limits` by the names of their columns and options."""

_ASSOCIATION: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    **dict.fromkeys(("share", "fairshare", "shares"), ("shares", _shares)),
    "priority": ("priority", _count),
    **dict.fromkeys(("qos", "qoslevel"), ("qos", listed)),
    **dict.fromkeys(("defqos", "defaultqos"), ("default_qos", str)),
    "partition": ("partition", str),
}
"""The fields of `Association`."""

_QOS: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "priority": ("priority", _count),
    "gracetime": ("grace_time", span),
    "preempt": ("preempts", listed),
    "preemptmode": ("preempt_mode", _mode),
    "preemptexempttime": ("exempt_time", _wall),
    "flags": ("flags", listed),
    "usagefactor": ("usage_factor", real),
    **dict.fromkeys(("usagethres", "usagethreshold"), ("usage_threshold", real)),
}
"""The fields of `Qos`."""

_IGNORED: Final = frozenset(
    {
        *("account", "adminlevel", "classification", "cluster", "coordinator", "defaultaccount", "defaultwckey"),
        *("description", "id", "lft", "name", "organization", "parentid", "parentname", "parname", "rgt", "user"),
        *("wckeys", "lineage", "comment"),
    }
)
"""The columns and options that set no field: names, and those without effect in a simulation."""


def _limits_of(
    values: Mapping[str, str], table: Mapping[str, tuple[str, Callable[[str], Any]]]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The fields of a table and of `Limits` that values set, and the names that are not followed.

    Args:
        values: the values by the names of their columns.
        table: `_ASSOCIATION` or `_QOS`.

    Raises:
        InputError: a value cannot be read; `path` is its name.
    """
    fields: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    missed: list[str] = []
    for name, text in values.items():
        key = _plain(name)
        found = table.get(key) or _LIMITS.get(key)
        if text == "" or key in _IGNORED:
            continue
        if found is None:
            missed.append(name)
            continue
        try:
            (fields if key in table else limits)[found[0]] = found[1](text)
        except InputError as error:
            raise InputError(error.reason, name) from None
    return fields, limits, missed


_MOST_DEPTH: Final = 100
_UNLIMITED: Final = AccountingLimits()
_LINE: Final = re.compile(r"(Cluster|Parent|Account|User) - '([^']*)'(?::(.*))?", re.IGNORECASE)
_OPTION: Final = re.compile(r"([A-Za-z]+)\+?=(?:'([^']*)'|([^:']*))(?::|$)")


def read_accounting(*paths: str | os.PathLike[str]) -> Accounting:
    """Read the files that sacctmgr wrote: `sacctmgr dump`, and `sacctmgr -P show qos` and `show assoc`.

    Args:
        paths: the files, in any order: accounts and users of one of them, qualities of service of another.

    Raises:
        InputError: a file is none of these, or a line is not right; with file and line.
        OSError: a file cannot be read.
    """
    texts = []
    for given in paths:
        path = os.fspath(given)
        texts.append((path, text_of(path)))
    return accounting_of(texts)


def accounting_of(texts: Iterable[tuple[str, str]]) -> Accounting:
    r"""The accounting that texts of sacctmgr stand for, each with the name of its file.

    >>> found = accounting_of([("dump.cfg", "Cluster - 'c'\nParent - 'root'\nAccount - 'a':Fairshare=30\n")])
    >>> found.associations[1].account, found.associations[1].shares
    ('a', 30)

    Raises:
        InputError: a text is none of sacctmgr, or a line is not right; with file and line.
    """
    reader = _Reader()
    for file, text in texts:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        first = next((line for _, line in lines if not line.startswith("#")), "")
        read = reader.table if "|" in first else reader.dump
        read(file, lines)
    return reader.found()


class _Reader:
    """Reads texts one after the other."""

    def __init__(self) -> None:
        self._cluster = ""
        self._associations: dict[tuple[str, str | None, str | None], SlurmAssociation] = {}
        self._parents: dict[str, tuple[str, str, int]] = {}
        self._qos: dict[str, SlurmQos] = {}
        self._homes: dict[str, str] = {}
        self._missed: dict[str, str] = {}

    def found(self) -> Accounting:
        """The values of all texts.

        Raises:
            InputError: an account is below one that there is not, or below itself.
        """
        root = self._associations.pop(("root", None, None), SlurmAssociation(account="root"))
        for parent, file, line in self._parents.values():
            if (parent, None, None) not in self._associations and parent != "root":
                known = [account for account, user, _ in self._associations if user is None]
                reason = f"there is no account {shown(parent)}{hint(parent, known)}"
                raise InputError(reason, "Parent", file=file, line=line)
        return Accounting(
            cluster=self._cluster,
            associations=(root, *self._ordered()),
            qos=self._qos,
            default_accounts=self._homes,
            not_followed=tuple(f"{place}: {name} is not followed" for name, place in self._missed.items()),
        )

    def _ordered(self) -> list[SlurmAssociation]:
        """Accounts after those above them, then users."""
        order: dict[tuple[str, str | None, str | None], SlurmAssociation] = {}
        for key, association in self._associations.items():
            above: list[SlurmAssociation] = []
            account = association.account
            while account != "root" and (account, None, None) not in order:
                found = self._associations.get((account, None, None))
                if found is None:  # a user in an account that is not in the table
                    found = SlurmAssociation(account=account, parent="root")
                if len(above) > _MOST_DEPTH or found in above:
                    _, file, line = self._parents[account]
                    raise InputError(
                        f"the account {shown(account)} is below itself, or too deep", "Parent", file=file, line=line
                    )
                above.append(found)
                account = found.parent or "root"
            for found in reversed(above):
                order[found.account, None, None] = found
            order.setdefault(key, association)
        return list(order.values())

    # A dump

    def dump(self, file: str, lines: Iterable[tuple[int, str]]) -> None:
        """Read the lines of a `sacctmgr dump`."""
        parent = "root"
        for number, line in lines:
            if line.lstrip().startswith("#"):
                continue
            try:
                kind, name, options = _of_dump(line)
                if kind == "cluster":
                    self._cluster = name
                    self._add(file, number, "root", None, options)
                elif kind == "parent":
                    parent = name
                elif kind == "account":
                    self._parents.setdefault(name, (parent, file, number))
                    self._add(file, number, name, None, options, parent)
                else:
                    self._add(file, number, parent, name, options)
                    self._homes.setdefault(name, options.get("DefaultAccount", parent))
            except InputError as error:
                raise InputError(error.reason, error.path, file=file, line=number) from None

    def _add(
        self, file: str, line: int, account: str, user: str | None, values: dict[str, str], parent: str | None = None
    ) -> None:
        fields, limits, missed = _limits_of(values, _ASSOCIATION)
        for name in missed:
            self._missed.setdefault(name, f"{file}:{line}")
        found = SlurmAssociation(
            account=one_word(account),
            user=user and one_word(user),
            parent=parent if user is None and account != "root" else None,
            limits=AccountingLimits(**limits) if limits else _UNLIMITED,
            **fields,
        )
        self._associations[found.account, found.user, found.partition] = found

    # Tables

    def table(self, file: str, lines: list[tuple[int, str]]) -> None:
        """Read a table with a header."""
        header = [_plain(name) for name in lines[0][1].split("|")]
        if "account" in header:
            self._table_of_associations(file, header, lines[1:])
        elif "name" in header:
            self._table_of_qos(file, header, lines[1:])
        else:
            reason = f"expected a table with the column Account or Name, got {shown(lines[0][1])}"
            raise InputError(reason, file=file, line=lines[0][0])

    def _table_of_associations(self, file: str, header: list[str], lines: list[tuple[int, str]]) -> None:
        above: list[tuple[int, str]] = []
        for number, values in _rows(file, header, lines):
            try:
                raw, user = values["account"], values.get("user", "").strip() or None
                account = raw.strip()
                depth = len(raw) - len(raw.lstrip())
                while above and above[-1][0] >= depth:
                    above.pop()
                indented = above[-1][1] if above else "root"
                parent = values.get("parentname") or values.get("parname") or indented
                if user is None and account != "root":
                    above.append((depth, account))
                    self._parents.setdefault(account, (parent, file, number))
                if user is not None:
                    self._homes.setdefault(user, account)
                self._cluster = self._cluster or values.get("cluster", "")
                self._add(file, number, account, user, values, parent)
            except InputError as error:
                raise InputError(error.reason, error.path, file=file, line=number) from None

    def _table_of_qos(self, file: str, header: list[str], lines: list[tuple[int, str]]) -> None:
        for number, values in _rows(file, header, lines):
            try:
                fields, limits, missed = _limits_of(values, _QOS)
                name = one_word(values["name"])
                self._qos[name] = SlurmQos(name=name, limits=AccountingLimits(**limits), **fields)
            except InputError as error:
                raise InputError(error.reason, error.path, file=file, line=number) from None
            for column in missed:
                self._missed.setdefault(column, f"{file}:{number}")


def _of_dump(line: str) -> tuple[str, str, dict[str, str]]:
    """The kind, the name and the options of a line of a dump."""
    found = _LINE.fullmatch(line.strip())
    if found is None:
        raise InputError(f"expected a line such as \"Account - 'a':Fairshare=30\", got {shown(line.strip())}")
    options: dict[str, str] = {}
    rest, place = found[3] or "", 0
    while place < len(rest):
        option = _OPTION.match(rest, place)
        if option is None:
            raise InputError(f"expected options such as Fairshare=30, got {shown(rest[place:])}")
        options[option[1]] = option[2] if option[2] is not None else option[3]
        place = option.end()
    return found[1].lower(), found[2], options


def _rows(file: str, header: list[str], lines: list[tuple[int, str]]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in lines:
        values = line.split("|")
        if len(values) == len(header) + 1 and not values[-1]:  # `-p` ends lines with a mark
            values.pop()
        if len(values) != len(header):
            reason = f"expected {len(header)} columns, got {len(values)}"
            raise InputError(reason, file=file, line=number)
        yield number, dict(zip(header, values, strict=True))


__getattr__ = old_names(
    __name__,
    {
        "Association": "SlurmAssociation",
        "Limits": "AccountingLimits",
        "Qos": "SlurmQos",
    },
)
