"""The requests on standard input: each gets an answer, also if the package `mcp` cannot read it.

This module must not know the tools.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, BinaryIO, Final, cast

import anyio
import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import ErrorData, JSONRPCError, JSONRPCNotification, jsonrpc_message_adapter

__all__ = ["LONGEST_REQUEST", "serve_requests"]

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
