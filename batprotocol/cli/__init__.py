"""`batproto`: protocol messages and simulations on the command line. Arguments in, text out; no logic of its own.

`main` has the commands, with `parameters` for what several of them take, and `version` for what `--version` says. The
work of each is in the module of its name: `dump`, `convert`, `validate`, `check`, `schema`, `rules`, `run`, `bridge`,
`new`; `simulate`, `conformance`, `schema`, `bridge`, `library` and `fast` have their parameters in `simulate_command`,
`conformance_command`, `schema_command`, `bridge_command`, `library_command` and `fast_command`. What `library` and
`run --in-process` do is in `in_process`; the commands of `fast` that need a broker have their parameters in
`fast_live_command`, and do their work in `fast_node`, `fast_watch` and `fast_send`. `grid_command` has the commands of
campaigns, whose work is in `grid` (what users ask for), `grid_stat` (how campaigns are), `grid_run` (the loop) and
`grid_simulate`.

What is read goes from `sources` (files, folders, standard input; `archives` for those that hold many) to the table of
`protocols`, which finds out whose the bytes are and has them read: `batsim5`, `legacy` and `fast` have the rows, and
`reading` says what a row is and what comes out. What is asked for of it is chosen by `selection`. What is shown goes
through `tree` and `text` to `output`, which knows the terminal. `legacy_schema` and `fast_schema` tell the fields of
the other protocols. `run` starts the simulator with `command`, at an endpoint that `private` finds.

Nothing outside this folder may import `click` or `rich`, but for the summary of a simulation.
"""
