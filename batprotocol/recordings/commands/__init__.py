"""`batproto at`, `stats`, `replay`, `diff`, `timeline`, `tap` and `export`: record runs and inspect them.

`command` defines their parameters. The module of the same name implements each command, and `known` prints the state at
a moment for all of them. `batprotocol.recordings` reads and compares the runs.
"""
