"""`batproto grid sub`, `del`, `events` and `clusters`: requests of users to the store."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from batprotocol._util.extras import installing
from batprotocol.campaigns.jdl import load_rules, read_jdl
from batprotocol.campaigns.model import Event, Record, UserPriority
from batprotocol.campaigns.text import answers, gridevents
from batprotocol.campaigns.text.times import age
from batprotocol.cli.terminal.output import Output
from batprotocol.errors import InputError, PackageMissing, StoreError, printable
from batprotocol.workloads.commands.texts import read_text

if TYPE_CHECKING:
    from batprotocol.campaigns.store import Store, Where

__all__ = ["clusters", "delete", "events", "json_of", "opened", "safe", "safe_lines", "submit"]

Value = TypeVar("Value", bound=Record)


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """The store. If a package for it is missing, the error has the command that installs it."""
    try:
        from batprotocol.campaigns.store import Store
    except ImportError as error:
        raise PackageMissing(f"campaigns need the package {error.name}: {installing('campaigns')}") from None
    store = Store(url)
    try:
        yield store
    finally:
        store.close()


def json_of(value: object) -> str:
    """A value of campaigns as one line of JSON."""
    return msgspec.json.encode(value).decode()


def safe(value: Value) -> Value:
    """A value whose texts are safe to print, also those of other users: each is one line without escapes."""
    return msgspec.convert(_printable(msgspec.to_builtins(value)), type(value))


def safe_lines(text: str) -> str:
    """A text of several lines that is safe to print."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {name: _printable(each) for name, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list | tuple) else value


def _text(path: str) -> str:
    return read_text(os.path.expandvars(os.path.expanduser(path)))


def submit(
    url: str,
    user: str,
    *,
    file: str | None,
    jdl: str | None,
    campaign: int | None,
    params: str | None,
    kind: str | None,
    details: bool,
    rules: str | None,
) -> int:
    """Submit a campaign, or add tasks to one; return the exit status."""
    output, user = Output(), user or getpass.getuser()
    with opened(url) as store:
        if campaign is not None:
            store.add_tasks(campaign, user, _parameters(params or ""))
            return 0
        known = [cluster.name for cluster in store.clusters()]
        admission = None if rules is None else load_rules(_text(rules), rules)
        text = jdl if file is None else _text(file)
        try:
            read = read_jdl(text or "", user=user, clusters=known, read_file=_text, type=kind, rules=admission)
        except InputError as error:
            hint = "" if known else "; no cluster is known yet: add one by batproto grid clusters --add"
            output.error(file or "jdl", f"{error}{hint}")
            return 1
        for warning in read.warnings:
            output.remark(file or "jdl", printable(warning))
        number = store.submit(read.campaign, read.parameters, jdl=read.jdl, now=time.time())
        status = store.campaign(number)
        assert status is not None, "it was submitted"
        output.line(("", answers.submitted(safe(status), details=details)))
    return 0


def _parameters(text: str) -> list[str]:
    try:
        return msgspec.json.decode(text, type=list[str])
    except msgspec.DecodeError as error:
        raise InputError(f"expected a list of texts in JSON: {error}", "-J") from None


def delete(url: str, user: str, *, campaign: int | None, job: int | None, what: str, verbose: bool) -> int:
    """Cancel, pause, resume or purge a campaign, or kill a job; return the exit status."""
    output, user = Output(), user or getpass.getuser()
    done = {"cancel": "cancelled", "pause": "paused", "resume": "resumed", "purge": "purged"}[what]
    with opened(url) as store:
        try:
            if campaign is None:
                assert job is not None, "one of both is given"
                store.kill_job(job, user)
                message = f"Job {job} cancelled."
            else:
                getattr(store, what)(campaign, user)
                message = f"Campaign {campaign} {done}."
        except StoreError as error:
            subject = f"campaign {campaign}" if campaign is not None else f"cancel job {job}"
            output.error(f"failed to {what} {subject}" if campaign is not None else f"failed to {subject}", str(error))
            return 1
    if verbose:
        output.line(("", message))
    return 0


def events(
    url: str,
    user: str,
    *,
    campaign: int | None,
    event: int | None,
    of_grid: bool,
    all_events: bool,
    fix: bool,
    resubmit: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Show events, or close them; return the exit status."""
    output, user = Output(), user or getpass.getuser()
    with opened(url) as store:
        if fix:
            try:
                closed = store.fix(user, campaign=campaign, event=event, resubmit=resubmit)
            except StoreError as error:
                output.error("failed to fix events", str(error))
                return 1
            if verbose:
                message = f"Campaign {campaign} events closed." if event is None else f"Event {event} closed."
                output.line(("", message if closed else "No events!"))
            return 0
        if campaign is not None and store.campaign(campaign) is None:
            output.error("grid", answers.not_found(campaign))
            return 1
        found = store.events(campaign, event=event, closed=all_events)
    show_events(found, output, as_json=as_json)
    return 0


def show_events(found: tuple[Event, ...], output: Output, *, as_json: bool = False) -> None:
    """Print events, with the exit statuses in their messages explained."""
    told = map(gridevents.explained, found)
    if as_json:
        for each in told:
            output.json(json_of(each))
    else:
        output.line(("", safe_lines(gridevents.events_list(told))))


def clusters(
    url: str,
    *,
    level: str | None,
    add: str | None,
    local: str | None,
    dask: str | None,
    file: str | None,
    types: bool,
    resources: int | None,
    power: float | None,
    enable: str | None,
    disable: str | None,
    prefer: tuple[str, str, str] | None,
    as_json: bool,
) -> int:
    """List the clusters, or change one; return the exit status."""
    output = Output()
    if types:
        output.line(("", "\n\n".join(_types())))
        return 0
    with opened(url) as store:
        from batprotocol.campaigns.store import Where

        if add is not None:
            batch, address = _place(local=local, dask=dask, file=file)
            store.register(Where(name=add, batch=batch, address=address, resources=resources, power=power or 1.0))
        for name, enabled in ((enable, True), (disable, False)):
            if name is not None:
                store.enable(name, enabled)
        if prefer is not None:
            store.prefer(_preference(*prefer))
        if any((add, enable, disable, prefer)) and level is None and not as_json:
            return 0
        _list_clusters(store, output, level, as_json)
    return 0


def _place(*, local: str | None, dask: str | None, file: str | None) -> tuple[str, str]:
    """The type of a cluster, and its address."""
    from batprotocol.campaigns.managers.types import type_in

    if local is not None:
        return "local", os.path.abspath(local)
    return ("dask", dask or "") if file is None else (type_in(file), os.path.abspath(file))


def _types() -> Iterator[str]:
    """The types of clusters, each as a paragraph."""
    from batprotocol.campaigns.managers.types import TYPES

    for name, each in TYPES.items():
        rows = (("resource", each.resource), ("job", each.job), ("can", each.can), ("cannot", each.cannot))
        yield "\n".join([f"{name} ({each.given})", *(f"  {title + ':':<10}{text}" for title, text in rows)])


def _preference(user: str, cluster: str, priority: str) -> UserPriority:
    try:
        return UserPriority(user, cluster, int(priority))
    except ValueError:
        raise InputError(f"expected a whole number, got {priority!r}", "--prefer") from None


def _list_clusters(store: Store, output: Output, level: str | None, as_json: bool) -> None:
    found = store.clusters() if as_json else tuple(map(safe, store.clusters()))
    banned = frozenset(event.cluster or "" for event in store.events() if event.code == "BLACKLIST")
    if as_json:
        for each in found:
            output.json(json_of(each))
    elif level == "more":
        for each in found:
            output.line(("", gridevents.cluster_details(_with_details(each), blacklisted=each.name in banned)))
    elif level == "usage":
        for status in map(safe, store.gridstatus()):
            usage = f"{status.cluster}: {status.used}/{status.max} used, {status.free} free"
            output.line(("", f"{usage} ({age(time.time() - status.time)} ago)"))
    elif found:
        output.line(("", gridevents.clusters_list(found, banned, info=level == "infos")))


def _with_details(where: Where) -> Where:
    details = (("address", where.address), ("resources", "all" if where.resources is None else str(where.resources)))
    return msgspec.structs.replace(where, details=details)
