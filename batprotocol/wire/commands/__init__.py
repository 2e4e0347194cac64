"""`batproto dump`, `convert`, `validate` and `check`: read recorded messages.

`command` defines their parameters. `check` also has `validate`. `selection` selects events, and `tree` draws messages
as readable trees. `protocols` has the protocols that they read and judge, and `batsim5` the one of this library.
"""
