"""`batproto run` and `library`: a scheduler for a Batsim that somebody else starts, or is started here.

`command` has their parameters. `over_socket` runs it at an endpoint, a `private` one if it may, and starts Batsim as a
`program`; `in_process` has Batsim load it. What concerns the scheduler alone is in `scheduler`, for other commands too.
"""
