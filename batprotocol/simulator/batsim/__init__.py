"""Batsim's side of the conversation: the actors of a simulation with its inputs, machine and decisions.

The modules have three layers, and none of them knows the layers above it. The `simulation_state` is shared by all,
with `jobs`, `probes`, the `messages` from actors to the server, and the `rules` for refused decisions. It is plain
values, which can be copied and pickled. The actors communicate only by messages: `submitters` send the inputs to the
server, `executions` run jobs and kill them, and turn hosts on and off, and `calls` has calls and probes. The `server`
gets the messages of all actors, and carries out the `decisions` of the decision component. `delays` has
the same actors without messages, for jobs that only take time and a policy that only counts hosts. `simulator` creates
a simulation, and has the class for users.
"""
