"""Reads the answers of OAR's API: resources, jobs, the number of a submission, and errors.

The result is a value or a `Misunderstood`, for any bytes, and in bounded memory. This module must not know of sockets
or files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from batprotocol._util.strangers import ABSENT, BROKEN, Item, Kind, TooMany, decoded, number_of, small, text_of
from batprotocol.campaigns.managers.oar.http import Answer
from batprotocol.campaigns.model import JobState, RemoteEvent
from batprotocol.campaigns.model.record import Record

__all__ = ["Misunderstood", "OarJob", "Page", "error_of", "job_page", "resource_page", "stress_of", "submitted_id"]

Raw = msgspec.Raw

MOST_EVENTS: Final = 20
MOST_CHARACTERS: Final = 1000
MOST_BEGINNING: Final = 200
MOST_VALUE: Final = 1000
"""How many bytes of JSON the property of a resource may have."""

MOST_ITEMS: Final = 20_000
"""How many jobs or resources a page may have. OAR's pages have 500 by default."""

MOST_ASSIGNED: Final = 250_000
"""How many events, resources or nodes a job may have."""

MOST_COMMAND: Final = 1 << 20
"""How many bytes of JSON a command may have: a system refuses a command of a tenth of it."""

PROPERTIES: Final = frozenset({"id", "state", "type", "drain", "besteffort"})
"""The properties of a resource that are always read."""

STATES: Final[Mapping[str, JobState]] = {
    "Hold": JobState.REMOTE_WAITING,
    "Waiting": JobState.REMOTE_WAITING,
    "toAckReservation": JobState.REMOTE_WAITING,
    "toLaunch": JobState.RUNNING,
    "Launching": JobState.RUNNING,
    "Running": JobState.RUNNING,
    "Suspended": JobState.RUNNING,
    "Resuming": JobState.RUNNING,
    "Finishing": JobState.RUNNING,
    "toError": JobState.RUNNING,
    "Terminated": JobState.TERMINATED,
    "Error": JobState.TERMINATED,
}
"""OAR's states. Another one is unknown: `SUBMITTED`."""

FIRST: Final = ("BESTEFFORT_KILL", "WALLTIME")
"""The events that say why OAR killed a job. The event of the kill itself may be listed before them."""

_NEW_ID = re.compile(r"new id = ([0-9]{1,18})\)")


class Misunderstood(ValueError):
    """An answer that is not one of OAR's API."""


class OarJob(Record, frozen=True, kw_only=True):
    """A job, as OAR reports it.

    Args:
        id: OAR's number.
        state: OAR's word.
        command: the beginning of its command.
        exit_code: its status as `wait` returns it; None: unknown.
        start: the time of its begin, None before.
        stop: the time of its end, None before.
        events: its events. Those that say why it was killed come first.
        resources: the numbers of the resources that it has.
        node: its first node.
        directory: where its files are.
        stdout: the file of its output.
        stderr: the file of its errors.
        array: the number of its array.
        owner: the login of its user.
        became: the number of the job that OAR submitted in its place.
    """

    id: int
    state: str
    command: str = ""
    exit_code: int | None = None
    start: float | None = None
    stop: float | None = None
    events: tuple[RemoteEvent, ...] = ()
    resources: tuple[int, ...] = ()
    node: str | None = None
    directory: str = ""
    stdout: str = ""
    stderr: str = ""
    array: int | None = None
    owner: str = ""
    became: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether it waits until it is resumed."""
        return self.state == "Hold"

    @property
    def is_well(self) -> bool:
        """Whether it has ended well."""
        return self.exit_code == 0 and self.state == "Terminated"

    @property
    def characters(self) -> int:
        """About how many characters it takes to keep it."""
        texts = (self.command, self.directory, self.stdout, self.stderr, self.owner, self.state)
        events = sum(100 + len(each.type) + len(each.description) for each in self.events)
        return 500 + sum(map(len, texts)) + events + 8 * len(self.resources)

    @property
    def seen_as(self) -> JobState:
        """Its state, as campaigns know it."""
        return STATES.get(self.state, JobState.SUBMITTED)


class Page(Record, frozen=True):
    """A page of a collection.

    Args:
        items: what it has.
        next: the offset of the next page, or None.
        time: the clock of the server.
    """

    items: tuple[Any, ...]
    next: int | None = None
    time: float | None = None


class _Link(Item):
    rel: Raw = ABSENT


class _Collection(msgspec.Struct):
    items: Raw
    links: Raw = ABSENT
    offset: Raw = ABSENT
    api_timestamp: Raw = ABSENT


class _Event(Item):
    type: Raw = ABSENT
    description: Raw = ABSENT


class _Resource(Item):
    id: Raw = ABSENT


class _Node(Item):
    network_address: Raw = ABSENT


class _Job(Item):
    id: Raw
    state: Raw
    command: Raw = ABSENT
    exit_code: Raw = ABSENT
    start_time: Raw = ABSENT
    stop_time: Raw = ABSENT
    events: Raw = ABSENT
    resources: Raw = ABSENT
    nodes: Raw = ABSENT
    launching_directory: Raw = ABSENT
    stdout_file: Raw = ABSENT
    stderr_file: Raw = ABSENT
    array_id: Raw = ABSENT
    owner: Raw = ABSENT


class _Submitted(msgspec.Struct):
    id: Raw


class _Stress(msgspec.Struct):
    GLOBAL_STRESS: Raw


class _Error(msgspec.Struct):
    title: Raw = ABSENT
    message: Raw = ABSENT


def job_page(answer: Answer) -> Page:
    """The jobs of a page of `jobs/details`.

    Raises:
        Misunderstood: it is not one.
    """
    page = _decoded(answer, answer.body, _Collection)
    return _page(answer, page, [_job(answer, each) for each in _decoded(answer, page.items, list[_Job], MOST_ITEMS)])


def resource_page(answer: Answer, names: Iterable[str] = ()) -> Page:
    """The resources of a page of `resources/full`: the values of their properties as texts.

    Args:
        answer: the answer.
        names: the properties to read besides `PROPERTIES`.

    Raises:
        Misunderstood: it is not one.
    """
    wanted = tuple(sorted({each for each in names if _may_be_read(each)} | PROPERTIES))
    page = _decoded(answer, answer.body, _Collection)
    found = []
    kind: Any = list[_resource(wanted)]  # type: ignore[misc]
    for each in _decoded(answer, page.items, kind, MOST_ITEMS):
        members = dict(zip(wanted, msgspec.structs.astuple(each), strict=True))
        number = _whole(members["id"])
        flat = {name: text_of(raw, MOST_VALUE) for name, raw in members.items() if len(memoryview(raw))}
        if number is None or "state" not in flat:
            raise Misunderstood(f"{answer.about} has a resource without 'id' or 'state'")
        found.append({**flat, "resource_id": str(number)})
    return _page(answer, page, found)


def _may_be_read(name: str) -> bool:
    """Whether a property can have this name: msgspec has no other ones."""
    return bool(name) and name.isprintable() and not set(name) & set('"\\')


@lru_cache(maxsize=64)
def _resource(names: tuple[str, ...]) -> type[msgspec.Struct]:
    """The type of a resource with these properties."""
    fields = [(f"member{number}", Raw, ABSENT) for number in range(len(names))]
    new = {field: name for (field, _, _), name in zip(fields, names, strict=True)}
    return msgspec.defstruct("_Properties", fields, bases=(Item,), rename=new, gc=False)


def submitted_id(answer: Answer) -> int:
    """The number of a job, or of the first job of an array, that was submitted.

    Raises:
        Misunderstood: it is not there.
    """
    found = _whole(_decoded(answer, answer.body, _Submitted).id)
    if found is None or found <= 0:
        raise Misunderstood(f"{answer.about} has no number of a job")
    return found


def stress_of(answer: Answer) -> float | None:
    """The stress factor of the cluster, or None if it reports none."""
    if answer.status != 200:
        return None
    try:
        found = float(text_of(_decoded(answer, answer.body, _Stress).GLOBAL_STRESS, 100) or 0)
    except (Misunderstood, ValueError, OverflowError):
        return None
    return found if 0 <= found < float("inf") else None


def error_of(answer: Answer) -> str:
    """The message of an answer that reports an error."""
    try:
        found = msgspec.json.decode(answer.body, type=_Error)
    except BROKEN:
        return _without_tags(answer.body)
    return text_of(found.message, MOST_COMMAND) or text_of(found.title)


def _without_tags(body: bytes | bytearray) -> str:
    """The words of a page of HTML."""
    text = body[:10_000].decode("utf-8", "replace")
    return " ".join(re.sub(r"<[^<>]*>", " ", text).split())


def _decoded(answer: Answer, text: bytes | bytearray | Raw, kind: type[Kind], most: int = 0) -> Kind:
    try:
        return decoded(text, kind, most)
    except TooMany:
        raise Misunderstood(f"{answer.about} is answered with a list of more than {most} items") from None
    except BROKEN as error:
        if answer.body.lstrip()[:1] == b"<":
            raise Misunderstood(f"{answer.about} is answered with a page for people: {error_of(answer)}") from None
        raise Misunderstood(f"{answer.about} is not answered with the JSON of OAR's API: {error}") from None


def _list(answer: Answer, raw: Raw, kind: type[Kind]) -> list[Kind]:
    """The objects of a list, which may be absent."""
    if not len(memoryview(raw)):
        return []
    found: list[Kind] | None = _decoded(answer, raw, list[kind] | None, MOST_ASSIGNED)  # type: ignore[arg-type, valid-type]
    return found or []


def _page(answer: Answer, page: _Collection, items: Sequence[Any]) -> Page:
    offset = _whole(page.offset) or 0
    links = _list(answer, page.links, _Link) if items else []
    more = any(text_of(each.rel, MOST_VALUE) == "next" for each in links)
    return Page(tuple(items), offset + len(items) if more else None, _time(page.api_timestamp))


def _job(answer: Answer, found: _Job) -> OarJob:
    number, state = _whole(found.id), small(found.state, str, MOST_VALUE)
    if number is None or not isinstance(state, str):
        raise Misunderstood(f"{answer.about} has a job without 'id' or 'state'")
    events = [
        RemoteEvent(kind[:MOST_CHARACTERS], text_of(each.description)[:MOST_CHARACTERS])
        for each in _list(answer, found.events, _Event)
        if (kind := text_of(each.type))
    ]
    events.sort(key=lambda event: event.type not in FIRST)
    new = next((new for each in events if (new := _NEW_ID.search(each.description)) is not None), None)
    assigned = (_whole(each.id) for each in _list(answer, found.resources, _Resource))
    nodes = (text_of(each.network_address, MOST_VALUE) for each in _list(answer, found.nodes, _Node))
    return OarJob(
        id=number,
        state=state,
        command=_beginning(found.command),
        exit_code=_whole(found.exit_code),
        start=_time(found.start_time),
        stop=_time(found.stop_time),
        events=tuple(events[:MOST_EVENTS]),
        resources=tuple(each for each in assigned if each is not None),
        node=next((each for each in nodes if each), None),
        directory=text_of(found.launching_directory),
        stdout=text_of(found.stdout_file),
        stderr=text_of(found.stderr_file),
        array=_whole(found.array_id),
        owner=text_of(found.owner, MOST_VALUE),
        became=None if new is None else int(new[1]),
    )


def _beginning(raw: Raw) -> str:
    """The beginning of a command, which has the number of a job of ours."""
    found = small(raw, str | None, MOST_COMMAND)
    return found[:MOST_BEGINNING] if isinstance(found, str) else ""


def _whole(raw: Raw) -> int | None:
    """A whole number that may be written as a text; None if it is none."""
    found = number_of(raw)
    if found is None and re.fullmatch(r"-?[0-9]{1,18}", text := text_of(raw, 100)):
        found = int(text)
    return found if found is not None and abs(found) < 10**18 else None


def _time(raw: Raw) -> float | None:
    """A time after 1970, or None."""
    found = _whole(raw)
    return float(found) if found is not None and found > 0 else None
