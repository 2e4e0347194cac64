"""`batproto mcp`: `command` has its parameters, and starts the server."""
