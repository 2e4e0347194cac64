"""`batproto new`: `command` has its parameters, and each kind of file has a module: `scheduler`."""
