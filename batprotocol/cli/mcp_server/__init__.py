"""A server of the Model Context Protocol (MCP), with which an assistant simulates schedulers and looks at messages.

`server` has the tools. Each call of a tool is a command of `batproto` in a process of its own, which is confined to one
folder (`process`). `vocabulary` keeps the contents of files out of errors.
"""

from batprotocol._util.deprecation import old_names
from batprotocol.cli.mcp_server.process import CommandLimits

__all__ = ["CommandLimits"]

__getattr__ = old_names(__name__, {"Limits": "CommandLimits"})
