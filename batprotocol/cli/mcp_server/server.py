"""The server: its tools, and the commands that they are. It needs the package `mcp` of the extra of that name."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Annotated, Any, BinaryIO, Final, Literal, cast

import anyio
import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import ErrorData, JSONRPCError, JSONRPCNotification, jsonrpc_message_adapter
from msgspec import structs

from batprotocol._util.engines import cores
from batprotocol._util.files import reason_of
from batprotocol._util.requirements import installing
from batprotocol.cli.mcp_server.process import CommandLimits
from batprotocol.cli.mcp_server.vocabulary import Folder, without_values
from batprotocol.errors import PackageMissing

__all__ = [
    "LONGEST_REQUEST",
    "serve",
    "serve_requests",
    "server_of",
]


try:
    import anyio
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations
    from pydantic import Field

    from batprotocol.cli.mcp_server.process import FinishedCommand, kernel_version, run

    _HAS_LANDLOCK: Final = kernel_version() > 0
except ImportError as error:
    raise PackageMissing(f"a server of MCP needs mcp: {installing('mcp')}", name=error.name) from None


_AT_ONCE: Final = 2
"""How many commands run at once. The others wait."""
_LONGEST_TEXT: Final = 1_000
_LONGEST_STUDY: Final = 20_000
_MOST: Final = 32
_ENOUGH: Final = 1 << 30
"""A study starts another process if each has this memory."""

Text = Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT, pattern=r"^[^\x00]*$")]
File = Annotated[
    str,
    Field(
        min_length=1,
        max_length=_LONGEST_TEXT,
        pattern=r"^[^\x00]*$",
        description="The path of a file or folder, relative to the folder of the server.",
    ),
]
Texts = Annotated[tuple[Text, ...], Field(max_length=_MOST)]
Share = Annotated[float, Field(ge=0, lt=1)]

_ABOUT: Final = """\
Simulate batch schedulers of clusters with batprotocol, and look at messages between Batsim and its schedulers.
All files are in one folder: {folder}. Paths are relative to it. Times are in seconds.
Begin with policies, then simulate; compare many simulations with study. Metrics are defined by metrics.
"""


def server_of(limits: CommandLimits) -> MCPServer[Any]:
    """A server whose tools use the files of a folder.

    Args:
        limits: the folder, and what a call of a tool may take.

    >>> import anyio
    >>> server = server_of(CommandLimits(folder="."))
    >>> sorted(tool.name for tool in anyio.run(server.list_tools))
    ['at', 'check', 'dump', 'metrics', 'policies', 'rules', 'schema', 'simulate', 'study']
    """
    from importlib.metadata import version

    folder = Folder(limits.folder)
    server: MCPServer[Any] = MCPServer(
        "batprotocol",
        title="batprotocol",
        instructions=_ABOUT.format(folder=folder.path),
        version=version("batprotocol"),
        log_level="WARNING",
    )
    tools = _Tools(limits, folder)
    looks = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writes = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    for tool, hints in (
        (tools.policies, looks),
        (tools.metrics, looks),
        (tools.rules, looks),
        (tools.schema, looks),
        (tools.dump, looks),
        (tools.check, looks),
        (tools.at, looks),
        (tools.simulate, writes),
        (tools.study, writes),
    ):
        server.tool(annotations=hints, structured_output=False)(tool)
    return server


def serve(limits: CommandLimits) -> None:
    """Serve one client on standard input and output, until the input ends. SIGINT and SIGTERM end the process.

    Args:
        limits: as for `server_of`.
    """

    server = server_of(limits)
    if not _HAS_LANDLOCK:
        print("batproto: this system has no Landlock, so Python alone keeps commands to the folder", file=sys.stderr)

    async def served() -> None:
        async with anyio.create_task_group() as group:
            if sys.platform != "win32":  # asyncio handles no signals there
                group.start_soon(_watch)
            await serve_requests(server)
            group.cancel_scope.cancel()

    anyio.run(served)


async def _watch() -> None:
    """End the process, and so its commands, at a signal. A thread reads the input, and cannot be cancelled."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            os._exit(128 + number)


class _Tools:
    """The tools. The docstrings of its methods are what the assistant reads."""

    def __init__(self, limits: CommandLimits, folder: Folder) -> None:
        self._limits = limits
        self._folder = folder
        self._slots = anyio.Semaphore(_AT_ONCE)

    async def policies(self) -> str:
        """List the parts of the names of built-in policies, such as easy-sjf, with options and sources."""
        return await self._print("policies")

    async def metrics(self) -> str:
        """List the metrics of simulations and studies, with definitions, units and sources."""
        return await self._print("study", "metrics")

    async def rules(
        self, rule: Annotated[Text | None, Field(description="The id of a rule; by default, list all rules.")] = None
    ) -> str:
        """List the rules of the conversation between Batsim and a scheduler, or explain one of them."""
        return await self._print("rules", names=_given(rule))

    async def schema(
        self,
        name: Annotated[
            Text | None, Field(description="A table, struct or enum, such as ExecuteJobEvent; by default, all names.")
        ] = None,
        about: Annotated[
            Literal["messages", "requests", "offers", "host-events"],
            Field(
                description="messages: of the protocol; or a JSON schema: requests: of what jobs ask for in their "
                "extra data; offers: of the properties of hosts; host-events: of failures and reservations."
            ),
        ] = "messages",
    ) -> str:
        """Show fields, types, defaults and comments of the protocol's schema, or a JSON schema for inputs."""
        return await self._print("schema", *([] if about == "messages" else [f"--{about}"]), names=_given(name))

    async def dump(
        self,
        file: File,
        events: Annotated[Texts, Field(description="Only events of these types, such as JobSubmitted.")] = (),
        jobs: Annotated[Texts, Field(description="Only events that mention these jobs, such as w0!12.")] = (),
        as_json: Annotated[bool, Field(description="Print JSON, one message on each line.")] = False,
        full: Annotated[bool, Field(description="Show long vectors and texts in full.")] = False,
    ) -> str:
        """Print the messages of a file or recording (.bin, .json, .tar.xz, .mcap, folder) as readable trees."""
        options = [f"--event={each}" for each in events] + [f"--job={each}" for each in jobs]
        options += ["--json-lines"] * as_json + ["--full"] * full
        return await self._print("dump", *options, names=[file])

    async def check(
        self,
        file: File,
        advise: Annotated[bool, Field(description="Print advice, too, such as about hosts that stay free.")] = False,
        rules: Annotated[Text | None, Field(description="The rule set, such as protocol.")] = None,
    ) -> str:
        """Check that a recorded conversation follows the rules, and report the rules that it breaks."""
        options = ["--advise"] * advise + [f"--rules={each}" for each in _given(rules)]
        return await self._print("check", *options, names=[file], good=(0, 1))

    async def at(
        self,
        file: File,
        seconds: Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False, description="The simulated time.")],
    ) -> str:
        """Show the state of a recorded run at a simulated time: jobs, hosts, calls, probes."""
        return await self._print("at", names=[file, repr(seconds)])

    async def simulate(
        self,
        policy: Annotated[Text, Field(description="A policy such as fcfs, easy-sjf or conservative.")],
        workloads: Annotated[
            Texts,
            Field(
                description="Files (Batsim's JSON, SWF; changes behind a ?, such as log.swf?jobs=0-999), or "
                "lublin:HOSTS?jobs=N&seed=N; by default, 250 jobs for 32 hosts."
            ),
        ] = (),
        platform: Annotated[Text | None, Field(description="A platform, a SimGrid XML file.")] = None,
        hosts: Annotated[
            Text | None, Field(description="Hosts instead of a platform: n[0-63] cores=64 memory=256G gres=gpu:4")
        ] = None,
        events: Annotated[Texts, Field(description="Files of external events, such as failures of hosts.")] = (),
        energy: Annotated[bool, Field(description="Measure energy; the platform must declare watts.")] = False,
        by: Literal["partition", "qos", "account", "size", "user", "workflow"] | None = None,
        warm_up: Share = 0.0,
        cool_down: Share = 0.0,
        output: Annotated[Text | None, Field(description="A folder for Batsim's result files.")] = None,
    ) -> str:
        """Simulate a policy with the embedded Batsim, and return all metrics as JSON."""
        options = [f"--workload={each}" for each in workloads] + [f"--events={each}" for each in events]
        options += [f"--platform={each}" for each in _given(platform)] + [f"--hosts={each}" for each in _given(hosts)]
        options += ["--energy"] * energy + [f"--by={each}" for each in _given(by)]
        options += [f"--warm-up={warm_up}", f"--cool-down={cool_down}"]
        options += [f"--output={each}" for each in _given(output)]
        return await self._print("simulate", "--json", *options, names=[policy])

    async def study(
        self,
        file: Annotated[File | None, Field(description="The TOML file of a study.")] = None,
        toml: Annotated[
            str | None,
            Field(
                max_length=_LONGEST_STUDY,
                description="Or the text of a study: keys with one or several values, such as "
                'scheduler = ["easy", "easy-sjf"], workload = "lublin:64?jobs=250", seed = "0-9". '
                "It is kept as a file in the folder.",
            ),
        ] = None,
        rows: Annotated[Text, Field(description="The axes of the rows, with commas.")] = "scheduler",
        columns: Annotated[
            Text | None, Field(description="The axis of the columns; by default, they are the metrics.")
        ] = None,
        metrics: Annotated[Texts, Field(description="Names of metrics.")] = (),
        baseline: Annotated[Text | None, Field(description="Show differences to this row.")] = None,
        only: Annotated[Texts, Field(description="Only the runs with these values: AXIS=VALUE,VALUE.")] = (),
    ) -> str:
        """Run a study, many simulations, and return a table of metrics with confidence intervals.

        Runs that have ended are kept. If the time is over, call it again to go on.
        """
        if (file is None) == (toml is None):
            raise ToolError("give file or toml, and not both")
        if file is None:
            file = self._keep(toml or "")
        processes, memory = _shares(self._limits.memory)
        chosen = [f"--only={each}" for each in only]
        bounds = [f"--at-most={self._limits.runs}", f"--processes={processes}"]
        async with self._slots:
            until = time.monotonic() + self._limits.seconds
            ran = await self._run(
                "study", "run", *bounds, *chosen, names=[file], until=until, memory=memory, text=toml or ""
            )
            if ran.status is None:
                raise ToolError(f"{_late(self._limits)}; the runs that have ended are kept: call it again to go on")
            if ran.status and not ran.output:  # it is refused
                _require(ran)
            options = [f"--rows={rows}"] + [f"--columns={each}" for each in _given(columns)]
            options += [f"--metric={each}" for each in metrics] + [f"--baseline={each}" for each in _given(baseline)]
            table = await self._run("study", "table", *options, *chosen, names=[file], until=until, text=toml or "")
        if ran.status:
            raise ToolError("\n".join(filter(None, (ran.errors, ran.output, table.output))))
        if table.status is None:
            raise ToolError(f"{_late(self._limits)}; all runs have ended: call it again for the table")
        _require(table)
        return "\n".join(filter(None, (f"{file}:", table.output, table.errors)))

    def _keep(self, text: str) -> str:
        """Write the text of a study to a file, with the same name for the same text."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise ToolError("toml is not valid Unicode") from None
        name = f"study-{hashlib.sha256(data).hexdigest()[:12]}.toml"
        try:
            self._folder.keep(name, data)
        except OSError as error:
            raise ToolError(f"{name}: {reason_of(error)}") from None
        return name

    async def _run(
        self,
        *words: str,
        names: Sequence[str] = (),
        until: float,
        memory: int | None = None,
        text: str = "",
        good: Sequence[int] = (0,),
    ) -> FinishedCommand:
        """Run a command. Its errors have no values of files, nor has what it printed before it failed."""
        command = [*words, *(["--", *names] if names else [])]
        for word in command:
            try:
                word.encode()
            except UnicodeEncodeError:
                raise ToolError("an argument is not valid Unicode") from None
            if "\0" in word:
                raise ToolError("an argument has a character NUL")
        memory = self._limits.memory if memory is None else memory
        seconds = max(until - time.monotonic(), 0.0)
        try:
            answer = await run(command, self._limits, self._folder, seconds=seconds, memory=memory)
        except OSError as error:  # such as too many processes
            raise ToolError(f"no process can be started: {reason_of(error)}") from None
        if self._limits.runs_code:  # which can print what it wants
            return answer
        known = [*command, text]
        errors = without_values(answer.errors, known)
        output = answer.output if answer.status in good else without_values(answer.output, known)
        return structs.replace(answer, output=output, errors=errors)

    async def _print(self, *words: str, names: Sequence[str] = (), good: Sequence[int] = (0,)) -> str:
        async with self._slots:
            until = time.monotonic() + self._limits.seconds
            answer = await self._run(*words, names=names, until=until, good=good)
        if answer.status is None:
            raise ToolError(_late(self._limits))
        _require(answer, good)
        return "\n".join(filter(None, (answer.output, answer.errors))) or "nothing"


def _shares(memory: int) -> tuple[int, int]:
    """How many processes simulate for a study, and the limit of the memory of each, and of the one that starts them."""
    processes = max(1, min(cores(), memory // _ENOUGH - 1)) if memory else cores()
    return processes, memory // (processes + 1)


def _given(*values: str | None) -> list[str]:
    return [value for value in values if value is not None]


def _late(limits: CommandLimits) -> str:
    return f"it took more than {limits.seconds:g} s, and was ended"


def _require(answer: FinishedCommand, good: Sequence[int] = (0,)) -> None:
    """Raise the error that the assistant reads, unless a command has one of these exit statuses."""
    if answer.status not in good:
        raise ToolError("\n".join(filter(None, (answer.errors, answer.output))) or f"exit status {answer.status}")


# The requests on standard input: each gets an answer, also if the package `mcp` cannot read it.


LONGEST_REQUEST: Final = 4 << 20
"""The number of bytes of the longest request that is read. The tools of this server need far less."""
_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600


async def serve_requests(server: MCPServer[Any]) -> None:
    """Serve one client on standard input and output, until the input ends.

    Args:
        server: the server.
    """
    lines = _Lines(sys.stdin.buffer)
    own = server._lowlevel_server  # the server's own loop over standard input has no place for a reader
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (requests, answers):
        lines.answers = answers
        await own.run(requests, answers, own.create_initialization_options())


class _Lines:
    """The lines of the input that are messages. The others are answered with an error."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.answers: Any = None

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await anyio.to_thread.run_sync(self._stream.readline, LONGEST_REQUEST + 1):
            if len(line) > LONGEST_REQUEST:
                while line and not line.endswith(b"\n"):
                    line = await anyio.to_thread.run_sync(self._stream.readline, LONGEST_REQUEST)
                await self._refuse(None, _INVALID_REQUEST, f"a request has {LONGEST_REQUEST:,} bytes at most")
            elif line.strip():
                text = line.decode("utf-8", "replace")
                if _is_message(text):
                    yield text
                else:
                    await self._refuse(*_fault(text))

    async def _refuse(self, number: str | int | None, code: int, reason: str) -> None:
        error = JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=reason))
        await self.answers.send(SessionMessage(error))


def _is_message(text: str) -> bool:
    try:
        found = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        return False
    # A request whose id is of no valid type is read as a notification, which nobody answers.
    return not (isinstance(found, JSONRPCNotification) and "id" in json.loads(text))


def _fault(text: str) -> tuple[str | int | None, int, str]:
    """The id of a request that cannot be read, or None, with the code and the message of the answer."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None, _PARSE_ERROR, "the request cannot be read as JSON"
    number = found.get("id") if isinstance(found, dict) else None
    known = number if isinstance(number, str | int) and not isinstance(number, bool) else None
    with suppress(UnicodeEncodeError):
        str(known).encode()
        return known, _INVALID_REQUEST, "this is not a request of JSON-RPC 2.0, or its text is not valid Unicode"
    return None, _INVALID_REQUEST, "the id of the request is not valid Unicode"
