"""Batsim's side of the conversation: the actors that make a simulation of inputs, machine and decisions.

Three floors, of which none knows those above it: `state` is what all share, and knows no actor; `actors` are those who
run jobs, calls and switches, and submit what comes from outside; the `server`, in the middle, is told by all of them,
and does what the decision component wants. `assembly` puts a simulation together, and `simulator` is what users hold.
"""
