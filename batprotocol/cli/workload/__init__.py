"""`batproto workload`: `command` has its parameters, and each command has a module: `workflows`, `measure`."""
