"""`batproto run`, `library` and `new`: run a scheduler for a Batsim, which the command starts if the user wants that.

`run` has the commands, and `options` those of `batproto run`. `drivers` runs the scheduler, at an endpoint or inside
Batsim, which it starts as a `program`. `scheduler` loads its class, for other commands, too. `new` writes a scheduler
to start from.
"""
