"""The requests to an OAR cluster, those of CiGri 3, as paths and JSON.

Jobs are submitted on hold, which CiGri does not do, and resumed when their numbers are known. So a submission whose
answer was lost never runs a job twice. OAR's API gives most texts to a shell of the frontend, in double quotes. So only
texts are sent that mean the same there, and commands are encoded. This module must not know of sockets or files.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from batprotocol.campaigns.managers.interface import DIRECTORY, NODES, Request

__all__ = ["Unsafe", "arrays", "body_of", "ids_query", "media_path", "number_of", "submission"]

MOST_JOBS: Final = 100
"""The greatest number of jobs in an array, CiGri's greatest rate of a tap."""

MOST_COMMAND_BYTES: Final = 60_000
"""The greatest size of a command with its environment. A system may refuse an argument of 128 kB."""

_SPECIAL = re.compile(r'[$`"\\\x00-\x1f\x7f\ud800-\udfff]')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TOKEN = re.compile(r": ([A-Za-z0-9._-]{1,100})\.([0-9]{1,18});")


class Unsafe(ValueError):
    """A request that must not be sent: its words would mean something else to OAR's API."""


def arrays(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """The requests in the order of their numbers, in lists that can be submitted as one array each."""
    alike: dict[tuple[Any, ...], list[Request]] = {}
    for each in requests:
        key = (each.campaign, each.directory, _resources(each), each.properties, each.project, each.best_effort)
        alike.setdefault(key, []).append(each)
    for together in alike.values():
        for start in range(0, len(together), MOST_JOBS):
            yield together[start : start + MOST_JOBS]


def submission(requests: Sequence[Request], mark: str, queue: str = "") -> dict[str, str]:
    """The body of `POST jobs` for one job, or for an array of jobs that are alike.

    >>> body = submission([Request(job=7, command="run.sh", campaign=1)], "cigri")
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


def number_of(command: str, mark: str) -> int | None:
    """The campaigns' number of an OAR job, by its command; None if it is not one of this mark.

    >>> number_of(": cigri.7;echo ...", "cigri"), number_of(": other.7;", "cigri"), number_of("sleep 3", "cigri")
    (7, None, None)
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


def _resources(request: Request) -> str:
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
        raise Unsafe(f"its {name} has the character {found[0]!r}, which OAR's API gives to a shell: leave it out")
    return text


def _line(request: Request, mark: str) -> str:
    """The number of the job, and its command so that no shell of OAR reads it."""
    line = f"exec sh -c {shlex.quote(_script(request.command, request.environment))} </dev/null\n"
    script = line.encode("utf-8", "surrogatepass")
    if len(script) > MOST_COMMAND_BYTES or b"\0" in script:
        raise Unsafe(f"expected a command of at most {MOST_COMMAND_BYTES} bytes, and without the character NUL")
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
