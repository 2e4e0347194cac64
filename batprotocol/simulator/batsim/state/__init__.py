"""The state of a simulation: plain values, which can be copied and pickled, and which know no actor.

`simulation` holds all of it: the `setup` that never changes, the `jobs`, the `profiles` and the `probes` there are,
what lies on the server's `desk`, and the `reports` to whoever observes. `messages` are what actors tell the server, and
`rules` what a decision is refused for.
"""
