"""`batproto workload`: `command` has its parameters, and each command has a module: `info`, `workflows`,
`measure`, `failures`, `windows`, `outages`. The last three use `events`."""
