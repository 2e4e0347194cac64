"""`batproto workload`: `command` has its commands, `info` is for workloads, `events` for external events.

`options` has options of several commands, and `inputs` reads the inputs of other commands, too.
"""
