"""Batsim's server: `server` is the actor, and what it does with what it is told is in tables.

`occurrences` are what happens in the simulation, `decisions` what the decision component wants, with `checks` of what
only the simulator can know, and the `beginning` is what is told first.
"""
