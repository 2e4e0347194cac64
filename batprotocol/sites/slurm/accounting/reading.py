"""The reading of what sacctmgr prints: a dump of a cluster, and tables of associations and qualities of service."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.slurm.accounting.columns import ASSOCIATION, QOS, limits_of, plain
from batprotocol.sites.slurm.accounting.values import Accounting, Association, Limits, Qos
from batprotocol.sites.slurm.amounts import one_word, text_of

__all__ = ["accounting_of", "read_accounting"]

_MOST_DEPTH: Final = 100
_UNLIMITED: Final = Limits()
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
        self._associations: dict[tuple[str, str | None, str | None], Association] = {}
        self._parents: dict[str, tuple[str, str, int]] = {}
        self._qos: dict[str, Qos] = {}
        self._homes: dict[str, str] = {}
        self._missed: dict[str, str] = {}

    def found(self) -> Accounting:
        """The values of all texts.

        Raises:
            InputError: an account is below one that there is not, or below itself.
        """
        root = self._associations.pop(("root", None, None), Association(account="root"))
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

    def _ordered(self) -> list[Association]:
        """Accounts after those above them, then users."""
        order: dict[tuple[str, str | None, str | None], Association] = {}
        for key, association in self._associations.items():
            above: list[Association] = []
            account = association.account
            while account != "root" and (account, None, None) not in order:
                found = self._associations.get((account, None, None))
                if found is None:  # a user in an account that is not in the table
                    found = Association(account=account, parent="root")
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
        fields, limits, missed = limits_of(values, ASSOCIATION)
        for name in missed:
            self._missed.setdefault(name, f"{file}:{line}")
        found = Association(
            account=one_word(account),
            user=user and one_word(user),
            parent=parent if user is None and account != "root" else None,
            limits=Limits(**limits) if limits else _UNLIMITED,
            **fields,
        )
        self._associations[found.account, found.user, found.partition] = found

    # Tables

    def table(self, file: str, lines: list[tuple[int, str]]) -> None:
        """Read a table with a header."""
        header = [plain(name) for name in lines[0][1].split("|")]
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
                fields, limits, missed = limits_of(values, QOS)
                name = one_word(values["name"])
                self._qos[name] = Qos(name=name, limits=Limits(**limits), **fields)
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
