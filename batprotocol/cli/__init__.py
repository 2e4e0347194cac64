"""`batproto`: protocol messages and simulations on the command line. Arguments in, text out; no logic of its own.

A command is in `PACKAGE/commands/` or `PACKAGE/commands.py`, in the package that it commands. The file `commands.json`
of that package lists it, with its module and name. `families` finds these lists, makes groups of commands, and prints
their help. A command is imported when it is called, and the modules that do the work when it runs: `batproto --help`
and completion do not wait for them. `main` is `batproto` itself.

Commands share these modules: `options` makes options of the fields of a class, `parameters` has the parameters that
several commands take, `completing` completes them in shells, and output goes to `terminal`. `version` describes this
installation of batprotocol. `mcp_server` is the command `mcp`. The commands that read messages find the protocols in
`wire.commands.protocols`.

Nothing but this folder and commands may import `click` or `rich`, except for the summary of a simulation.
"""
