"""The state of a simulation: plain values, which can be copied and pickled, and which know no actor.

`simulation` holds all of it: the `setup`, which never changes, the `jobs`, the `profiles`, the `probes`, the state of
the server in `desk`, and the `reports` to observers. `messages` has the messages from actors to the server, and `rules`
the rules for refused decisions.
"""
