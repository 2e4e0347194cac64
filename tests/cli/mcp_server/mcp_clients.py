"""A client of the server for assistants, in this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from batprotocol.cli.mcp_server import CommandLimits

anyio = pytest.importorskip("anyio")
mcp = pytest.importorskip("mcp")

Play = Callable[[Any], Awaitable[None]]
"""The part of a test that uses a client."""


def play(limits: CommandLimits, acts: Play) -> None:
    from batprotocol.cli.mcp_server.server import server_of

    async def connected() -> None:
        async with mcp.Client(server_of(limits)) as client:
            await acts(client)

    anyio.run(connected)


async def said(client: Any, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Whether a call has failed, and its text."""
    answer = await client.call_tool(tool, arguments)
    return bool(answer.is_error), "\n".join(each.text for each in answer.content)
