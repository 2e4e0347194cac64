"""OAR's REST API: the description of a cluster, requests in time and bounded, their paths and JSON, and the answers.

The store keeps only the path of the description. Passwords and tokens are in another file, or in the environment. They
are in no message.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import ssl
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote, urlsplit

import msgspec

from batprotocol._util.web import (
    ABSENT,
    BROKEN,
    Item,
    TooMany,
    Wanted,
    WebServer,
    decoded,
    number_of,
    small,
    text_of,
    without_secrets,
)
from batprotocol._util.web import Unanswered as NoReply
from batprotocol.campaigns.managers.interface import DIRECTORY, NODES, JobRequest, description_in, file_content
from batprotocol.campaigns.model import GridJobState, GridValue, RemoteEvent
from batprotocol.errors import ClusterError, InputError, shown

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
FILES: Final = ("secret_file", "certificate", "key", "ca")

Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]


class OarDescription(msgspec.Struct, frozen=True, kw_only=True):
    """An OAR cluster, with CiGri's words where CiGri has them.

    Args:
        url: the address of the API, `https://oar.example.org/oarapi`.
        user: the login on the cluster.
        auth: `none` (the header with the login is enough), `password`, `cert` or `jwt`.
        header: the name of the header with the login. CiGri's `X_REMOTE_IDENT` does not pass web servers that refuse
            underscores.
        secret_file: a file with the password or token, which only its owner can read.
        secret_variable: the name of an environment variable with it.
        certificate: the file of the client's certificate, for `cert`.
        key: the file of its key, if it is another one.
        ca: the file of the authority that signed the server's certificate; without it, the system's authorities.
        queue: the queue of the jobs; empty: OAR's default.
        properties: the resources to use, as CiGri writes them: `cluster = 'luke' and mem = 64`; empty: all.
        resource_unit: the property that counts as one resource, such as `core`.
        timeout: how many seconds a request may take.
        period: how many seconds the resources and the stress factor stay valid. CiGri reads them each 60 s.
    """

    url: str
    user: str = ""
    auth: Literal["none", "password", "cert", "jwt"] = "none"
    header: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,99}\Z")] = "X-REMOTE-IDENT"
    secret_file: str | None = None
    secret_variable: str | None = None
    certificate: str | None = None
    key: str | None = None
    ca: str | None = None
    queue: str = ""
    properties: str = ""
    resource_unit: str = "resource_id"
    timeout: Seconds = 30.0
    period: Seconds = 60.0

    @property
    def host(self) -> str:
        """The name of the server."""
        return urlsplit(self.url).hostname or ""

    @property
    def wanted(self) -> Mapping[str, str]:
        """The values of properties that a resource must have to be used."""
        pairs = [each.partition("=") for each in self.properties.replace(" AND ", " and ").split(" and ")]
        return {name.strip(): value.strip().strip("'\"") for name, equals, value in pairs if equals}


def read_description(path: str | os.PathLike[str]) -> OarDescription:
    """Read the description of a cluster with `type = "oar"`. Names of files in it are relative to its folder.

    Raises:
        InputError: it cannot be used; the error has the file and the key.
    """
    return description_in(path, "oar", OarDescription, _finished, {"url": f"expected a key 'url' with {ADDRESS}"})


def _finished(found: OarDescription, beside: str) -> OarDescription:
    _check(found)
    files = {name: os.path.join(beside, os.path.expanduser(each)) for name in FILES if (each := getattr(found, name))}
    return msgspec.structs.replace(found, **files)


ADDRESS: Final = "the address of the API, such as https://oar.example.org/oarapi"


def _check(found: OarDescription) -> None:
    """Check the values together. No message has the address, as it may have a password."""
    try:
        parts = urlsplit(found.url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not (usable and found.url.isascii() and found.url.isprintable()) or set(found.url) & set(" ?#"):
        raise InputError(f"expected {ADDRESS}", "url")
    if "@" in parts.netloc:
        raise InputError("expected no password: write it into a file, and its name into 'secret_file'", "url")
    if not (found.user.isascii() and found.user.isprintable()):
        raise InputError(f"expected a login, got {shown(found.user)}", "user")
    needs_secret = found.auth in ("password", "jwt")
    if needs_secret and (found.secret_file is None) == (found.secret_variable is None):
        raise InputError(f"with {found.auth!r}, expected one of 'secret_file' and 'secret_variable'", "auth")
    if needs_secret and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise InputError(f"with {found.auth!r}, expected an address with https, as others can read the secret", "url")
    if found.auth == "cert" and (found.certificate is None or parts.scheme != "https"):
        raise InputError("with 'cert', expected a 'certificate' and an address with https", "auth")


def headers_of(description: OarDescription) -> tuple[dict[str, str], str]:
    """The headers that authenticate each request, and the secret in them, which no message may have.

    Raises:
        InputError: the secret cannot be read.
    """
    headers = {description.header: description.user} if description.user else {}
    if description.auth not in ("password", "jwt"):
        return headers, ""
    secret = _secret(description)
    if description.auth == "jwt":
        return {**headers, "Authorization": f"Bearer {secret}"}, secret
    pair = base64.b64encode(f"{description.user}:{secret}".encode()).decode()
    return {**headers, "Authorization": f"Basic {pair}"}, secret


def _secret(description: OarDescription) -> str:
    if description.secret_variable is not None:
        where = f"the environment variable {description.secret_variable}"
        found = os.environ.get(description.secret_variable, "")
    else:
        where = description.secret_file or ""
        text = file_content(where)
        if stat.S_IMODE(os.stat(where).st_mode) & 0o077:
            raise InputError("others can read the secret: run chmod 600 on the file", file=where)
        found = text.decode("utf-8", "replace").rstrip("\r\n")
    if not found.isprintable() or not found or (description.auth == "jwt" and not found.isascii()):
        raise InputError(f"expected a password or token of one line in {where}")
    return found


# Requests to the API of an OAR cluster. `batprotocol._util.web` bounds each of them.


MOST_BYTES: Final = 32_000_000
"""The greatest size of an answer: a page of some 16,000 jobs. OAR's pages have 500 by default."""

SHOWN: Final = 300
"""How many characters of an answer a message shows."""


class OarAnswer(GridValue, frozen=True):
    """An answer of the server.

    Args:
        status: the status of HTTP.
        type: the type of the content.
        body: the content.
        about: the request, for messages: `GET jobs/details`.
        whole: whether this is the whole content. It is cut only if the caller gave a limit.
    """

    status: int
    type: str
    body: bytes | bytearray
    about: str = ""
    whole: bool = True


class OarUnanswered(ClusterError):
    """A request that got no complete answer. The server may have carried it out, or may do so later."""


class OarApi:
    """The API of a cluster.

    Args:
        description: its description.
        cluster: the name of the cluster, for messages.

    Raises:
        InputError: the secret or the certificates cannot be read.
        PackageMissing: h11 is not installed.
    """

    def __init__(self, description: OarDescription, cluster: str = "") -> None:
        self._description = description
        self._cluster = cluster
        self._headers, self._secret = headers_of(description)
        self._base = urlsplit(description.url)
        is_secure = self._base.scheme == "https"
        port = self._base.port or (443 if is_secure else 80)
        self._server = WebServer(description.host, port, tls=self._context() if is_secure else None)

    def __repr__(self) -> str:
        return f"Api({self._description.url!r})"

    def ask(self, method: str, path: str, body: bytes | None = None, *, limit: int | None = None) -> OarAnswer:
        """Make a request.

        Args:
            method: `GET`, `POST` or `DELETE`.
            path: the path after the address of the API, with its query.
            body: JSON.
            limit: how many bytes of the answer to read; None: all, but not more than `MOST_BYTES`.

        Raises:
            Unanswered: there is no complete answer.
        """
        about = f"{method} {path.partition('?')[0][:100]}"
        headers = {**self._headers, "Accept": "application/json", "Content-Type": "application/json"}
        target = f"{self._base.path.rstrip('/')}/{path}"
        most, seconds = MOST_BYTES if limit is None else limit, self._description.timeout
        try:
            found = self._server.ask(method, target, headers, body, seconds=seconds, most=most, cut=limit is not None)
        except NoReply as error:
            raise OarUnanswered(self._reason(error, about), self._cluster) from None
        return OarAnswer(found.status, found.type, found.body, about, found.whole)

    def safe(self, text: str) -> str:
        """The beginning of a text of the server, in one line and without the secret."""
        return without_secrets(text, (self._secret, self._headers.get("Authorization", "").rpartition(" ")[2]), SHOWN)

    def _reason(self, error: NoReply, about: str) -> str:
        host = self._description.host
        if error.kind == "late":
            return f"{host} does not answer {about} within {self._description.timeout:g} s"
        if error.kind == "unsent":
            return f"{host} is not asked {about}: {error.reason}"
        if error.kind == "untrusted":
            return f"{host} does not answer {about}: {error.reason}; give its authority in 'ca'"
        return f"{host} does not answer {about} completely: {error.reason}"

    def _context(self) -> ssl.SSLContext:
        given = self._description
        try:
            context = ssl.create_default_context(cafile=given.ca)
            if given.auth == "cert" and given.certificate is not None:
                context.load_cert_chain(given.certificate, given.key)
        except (OSError, ValueError) as error:
            files = " and ".join(each for each in (given.ca, given.certificate, given.key) if each)
            raise InputError(f"cannot use {files}: {error}") from None
        return context


# The requests to an OAR cluster, those of CiGri 3, as paths and JSON.


MOST_JOBS: Final = 100
"""The greatest number of jobs in an array, CiGri's greatest rate of a tap."""

MOST_COMMAND_BYTES: Final = 60_000
"""The greatest size of a command with its environment. A system may refuse an argument of 128 kB."""

_SPECIAL = re.compile(r'[$`"\\\x00-\x1f\x7f\ud800-\udfff]')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TOKEN = re.compile(r": ([A-Za-z0-9._-]{1,100})\.([0-9]{1,18});")


class UnsafeRequest(ValueError):
    """A request that must not be sent: its words would mean something else to OAR's API."""


def arrays(requests: Sequence[JobRequest]) -> Iterator[list[JobRequest]]:
    """The requests in the order of their numbers, in lists that can be submitted as one array each."""
    alike: dict[tuple[Any, ...], list[JobRequest]] = {}
    for each in requests:
        key = (each.campaign, each.directory, _resources(each), each.properties, each.project, each.best_effort)
        alike.setdefault(key, []).append(each)
    for together in alike.values():
        for start in range(0, len(together), MOST_JOBS):
            yield together[start : start + MOST_JOBS]


def submission(requests: Sequence[JobRequest], mark: str, queue: str = "") -> dict[str, str]:
    """The body of `POST jobs` for one job, or for an array of jobs that are alike.

    >>> body = submission([JobRequest(job=7, command="run.sh", campaign=1)], "cigri")
    >>> body["resources"], body["name"], body["type"], body["directory"]
    ('/resource_id=1,walltime=01:00:00', 'cigri.1', 'besteffort', '$HOME')

    Raises:
        Unsafe: a text means something else to the shell of OAR's API.
    """
    first = requests[0]
    lines = [_line(each, mark) for each in requests]
    single = len(lines) == 1  # OAR takes no array of one
    body = {
        "resources": _plain(_resources(first), "resources"),
        "command": f": {lines[0]}" if single else ":",
        "name": f"cigri.{first.campaign}",
        "directory": _directory(first.directory),
        "hold": "",
    }
    if not single:
        body["param_file"] = "\n".join(lines)
    if first.best_effort:
        body["type"] = "besteffort"
    for name, text in (("property", first.properties), ("project", first.project), ("queue", queue)):
        if text:
            body[name] = _plain(text, name)
    return body


def job_number_in(command: str, mark: str) -> int | None:
    """The campaigns' number of an OAR job, by its command; None if it is not one of this mark.

    >>> [job_number_in(command, "cigri") for command in (": cigri.7;echo ...", ": other.7;", "sleep 3")]
    [7, None, None]
    """
    found = _TOKEN.match(command)
    return int(found[2]) if found is not None and found[1] == mark else None


def ids_query(ids: Sequence[int]) -> str:
    """The path that asks for these jobs."""
    return f"jobs/details?ids={':'.join(map(str, ids))}"


def media_path(directory: str, file: str, job: int, lines: int) -> str:
    """The path that asks for the last lines of a file of a job."""
    name = file.replace("%jobid%", str(job))
    path = name if name.startswith("/") else f"{directory.rstrip('/')}/{name}"
    return f"media{quote(path)}?tail={lines}"


def _resources(request: JobRequest) -> str:
    """The resources with the walltime, as CiGri writes them."""
    seconds = max(1, round(request.walltime))
    walltime = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{request.resources or f'/resource_id={request.weight}'},walltime={walltime}"


def _directory(text: str) -> str:
    """The directory; OAR's API replaces `$HOME`."""
    for home in ("$HOME", "~"):
        if text == home or text.startswith(f"{home}/"):
            return "$HOME" + _plain(text[len(home) :], "directory")
    return _plain(text, "directory")


def _plain(text: str, name: str) -> str:
    found = _SPECIAL.search(text)
    if found is not None:
        raise UnsafeRequest(
            f"its {name} has the character {found[0]!r}, which OAR's API gives to a shell: leave it out"
        )
    return text


def _line(request: JobRequest, mark: str) -> str:
    """The number of the job, and its command so that no shell of OAR reads it."""
    line = f"exec sh -c {shlex.quote(_script(request.command, request.environment))} </dev/null\n"
    script = line.encode("utf-8", "surrogatepass")
    if len(script) > MOST_COMMAND_BYTES or b"\0" in script:
        raise UnsafeRequest(f"expected a command of at most {MOST_COMMAND_BYTES} bytes, and without the character NUL")
    return f"{mark}.{request.job};echo {base64.b64encode(script).decode()}|base64 -d|sh"


def _script(command: str, environment: Mapping[str, str]) -> str:
    known = {DIRECTORY: '"$PWD"', NODES: '"$OAR_NODE_FILE"'}
    exports = [
        f"export {name}={known.get(value) or shlex.quote(value)}"
        for name, value in environment.items()
        if _NAME.match(name)
    ]
    return "\n".join([*exports, command])


def body_of(members: Mapping[str, str]) -> bytes:
    """The JSON of a request."""
    return msgspec.json.encode(members)


# Reads the answers of OAR's API: resources, jobs, the number of a submission, and errors.


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

STATES: Final[Mapping[str, GridJobState]] = {
    "Hold": GridJobState.REMOTE_WAITING,
    "Waiting": GridJobState.REMOTE_WAITING,
    "toAckReservation": GridJobState.REMOTE_WAITING,
    "toLaunch": GridJobState.RUNNING,
    "Launching": GridJobState.RUNNING,
    "Running": GridJobState.RUNNING,
    "Suspended": GridJobState.RUNNING,
    "Resuming": GridJobState.RUNNING,
    "Finishing": GridJobState.RUNNING,
    "toError": GridJobState.RUNNING,
    "Terminated": GridJobState.TERMINATED,
    "Error": GridJobState.TERMINATED,
}
"""OAR's states. Another one is unknown: `SUBMITTED`."""

FIRST: Final = ("BESTEFFORT_KILL", "WALLTIME")
"""The events that say why OAR killed a job. The event of the kill itself may be listed before them."""

_NEW_ID = re.compile(r"new id = ([0-9]{1,18})\)")


class Misunderstood(ValueError):
    """An answer that is not one of OAR's API."""


class OarJob(GridValue, frozen=True, kw_only=True):
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
    def seen_as(self) -> GridJobState:
        """Its state, as campaigns know it."""
        return STATES.get(self.state, GridJobState.SUBMITTED)


class OarPage(GridValue, frozen=True):
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


class _OarEvent(Item):
    type: Raw = ABSENT
    description: Raw = ABSENT


class _Resource(Item):
    id: Raw = ABSENT


class _OarNode(Item):
    network_address: Raw = ABSENT


class _OarItem(Item):
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


def job_page(answer: OarAnswer) -> OarPage:
    """The jobs of a page of `jobs/details`.

    Raises:
        Misunderstood: it is not one.
    """
    page = _decoded(answer, answer.body, _Collection)
    return _page(
        answer, page, [_job(answer, each) for each in _decoded(answer, page.items, list[_OarItem], MOST_ITEMS)]
    )


def resource_page(answer: OarAnswer, names: Iterable[str] = ()) -> OarPage:
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


def submitted_id(answer: OarAnswer) -> int:
    """The number of a job, or of the first job of an array, that was submitted.

    Raises:
        Misunderstood: it is not there.
    """
    found = _whole(_decoded(answer, answer.body, _Submitted).id)
    if found is None or found <= 0:
        raise Misunderstood(f"{answer.about} has no number of a job")
    return found


def stress_of(answer: OarAnswer) -> float | None:
    """The stress factor of the cluster, or None if it reports none."""
    if answer.status != 200:
        return None
    try:
        found = float(text_of(_decoded(answer, answer.body, _Stress).GLOBAL_STRESS, 100) or 0)
    except (Misunderstood, ValueError, OverflowError):
        return None
    return found if 0 <= found < float("inf") else None


def error_of(answer: OarAnswer) -> str:
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


def _decoded(answer: OarAnswer, text: bytes | bytearray | Raw, kind: type[Wanted], most: int = 0) -> Wanted:
    try:
        return decoded(text, kind, most)
    except TooMany:
        raise Misunderstood(f"{answer.about} is answered with a list of more than {most} items") from None
    except BROKEN as error:
        if answer.body.lstrip()[:1] == b"<":
            raise Misunderstood(f"{answer.about} is answered with a page for people: {error_of(answer)}") from None
        raise Misunderstood(f"{answer.about} is not answered with the JSON of OAR's API: {error}") from None


def _list(answer: OarAnswer, raw: Raw, kind: type[Wanted]) -> list[Wanted]:
    """The objects of a list, which may be absent."""
    if not len(memoryview(raw)):
        return []
    found: list[Wanted] | None = _decoded(answer, raw, list[kind] | None, MOST_ASSIGNED)  # type: ignore[arg-type, valid-type]
    return found or []


def _page(answer: OarAnswer, page: _Collection, items: Sequence[Any]) -> OarPage:
    offset = _whole(page.offset) or 0
    links = _list(answer, page.links, _Link) if items else []
    more = any(text_of(each.rel, MOST_VALUE) == "next" for each in links)
    return OarPage(tuple(items), offset + len(items) if more else None, _time(page.api_timestamp))


def _job(answer: OarAnswer, found: _OarItem) -> OarJob:
    number, state = _whole(found.id), small(found.state, str, MOST_VALUE)
    if number is None or not isinstance(state, str):
        raise Misunderstood(f"{answer.about} has a job without 'id' or 'state'")
    events = [
        RemoteEvent(kind[:MOST_CHARACTERS], text_of(each.description)[:MOST_CHARACTERS])
        for each in _list(answer, found.events, _OarEvent)
        if (kind := text_of(each.type))
    ]
    events.sort(key=lambda event: event.type not in FIRST)
    new = next((new for each in events if (new := _NEW_ID.search(each.description)) is not None), None)
    assigned = (_whole(each.id) for each in _list(answer, found.resources, _Resource))
    nodes = (text_of(each.network_address, MOST_VALUE) for each in _list(answer, found.nodes, _OarNode))
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
