"""Batsim's side of the conversation: the actors of a simulation with its inputs, machine and decisions.

It has three layers. None of them knows the layers above it. `state` is shared by all, and knows no actor. `actors` run
jobs, calls and switches, and submit the inputs. The `server` gets the messages of all actors, and carries out the
decisions of the decision component. `assembly` creates a simulation, and `simulator` has the class for users.
"""
