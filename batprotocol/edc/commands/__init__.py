"""`batproto run`, `library` and `new`: run a scheduler for a Batsim, which the command starts if the user wants that.

`run` has the parameters. `over_socket` runs the scheduler at an endpoint, by default a `private` one, and starts
Batsim as a `program`. `in_process` lets Batsim load the scheduler. `scheduler` loads its class, for other commands,
too. `new` writes a scheduler to start from, of a `template`.
"""
