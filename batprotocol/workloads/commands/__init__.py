"""`batproto workload`: `command` has its parameters, `info` is for workloads, `events` for external events.

`inputs` reads the inputs of other commands, too.
"""
