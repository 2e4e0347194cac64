"""Batsim's server: `server` is the actor. Tables have the function for each message.

`occurrences` handles events of the simulation. `decisions` handles the decisions of the decision component, with
`checks` of conditions that only the simulator knows. `beginning` creates the first message.
"""
