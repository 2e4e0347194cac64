"""`batproto dump`, `convert`, `validate` and `check`: read recorded messages.

`command` defines their parameters, and the module of the same name implements each command. `selection` selects events,
and `tree` draws messages as readable trees.
"""
