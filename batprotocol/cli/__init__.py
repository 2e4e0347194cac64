"""`batproto`: protocol messages and simulations on the command line. Arguments in, text out; no logic of its own.

`main` combines the commands. Each family of commands is a folder. Its module `command` has the parameters, and imports
the modules that do the work only when a command runs: `batproto --help` and completion do not wait for them.

- `messages`: `dump`, `convert`, `validate` and `check`; `captures`: `at`, `stats`, `diff` and `replay`;
- `reference`: `schema`, `rules` and `policies`;
- `run`: `run` and `library`; `simulate`, `compare`, `conformance`, `bridge` and `new`, one each;
- `study` and `workload`: the commands for studies, and for workloads of other formats; `importing`: `import`; `whatif`
  runs a study of a log;
- `fast` and `grid`: the commands for FaST and for campaigns; `mcp`: a server for assistants.

The families share these modules: `parameters` has the parameters that several commands take, `completing` completes
them in shells, and `families` prints the help of groups. `named` opens the runs that users name. Input goes from
`inputs` to the table of `protocols`, and output goes to `terminal`. `version` describes this installation of
batprotocol. A family imports another one only where `tests/house/test_layers.py` has one above the other.

Nothing outside this folder may import `click` or `rich`, except for the summary of a simulation.
"""
