"""Batsim's side of the conversation: the actors that make a simulation of inputs, machine and decisions.

The way through it: `submitters` (jobs, external events, decisions of a reply), `jobs`, `calls` and `switches` tell the
`server` in `messages`; what it does with them is in `occurrences` and `decisions`, with `checks` of what only the
simulator can know, and the `rules` for it. `jobs` have their profiles run by `runners`, and `calls` have the `probes`
measure. All of them share the state in `simulation`; `simulator` is what users hold.
"""
