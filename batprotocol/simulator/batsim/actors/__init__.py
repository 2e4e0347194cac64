"""The actors of a simulation, each for itself: they share the state, and are told of others by messages alone.

`submitters` tell the server what comes from outside: jobs, external events, the decisions of a reply. `executions` run
jobs and kill them, by `runners` of their profiles; `calls` come when they are due, and measure; `switches` turn hosts
on and off.
"""
