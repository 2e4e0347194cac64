"""Commands that record runs and inspect them: `at`, `diff`, `export`, `replay`, `stats`, `tap`, `timeline`.

`command` defines their parameters, and `named_runs` opens the runs that users name. `state`, `difference`, `drawing`
and `live` do the work, with what `batprotocol.recordings` reads and compares.
"""
