"""The actors of a simulation. They share the state, and communicate only by messages.

`submitters` send the inputs to the server: jobs, external events, and the decisions of a reply. `executions` run jobs
and kill them, with `runners` of their profiles. `calls` has calls and probes, which come when they are due. `switches`
turn hosts on and off.
"""
