"""`batproto`: protocol messages and simulations on the command line. Arguments in, text out; no logic of its own.

`main` brings the commands together. Each family of commands is a folder, whose `command` has their parameters and
imports what does the work when that is wanted, so that `batproto --help` and completion wait for nothing:

- `messages`: `dump`, `convert`, `validate` and `check`; `captures`: `at`, `stats`, `diff` and `replay`;
- `reference`: `schema`, `rules` and `policies`;
- `run`: `run` and `library`; `simulate`, `compare`, `conformance`, `bridge` and `new`, one each;
- `study`: those of studies; `fast` and `grid`: those of FaST and of campaigns.

They stand on what they have in common. `parameters` has what several of them take, `families` what the
help of groups shows. Runs that users name are opened by `named`. What is read goes from `inputs` to
the table of `protocols`; what is shown goes to `terminal`; `version` says which batprotocol this is. Families know one
another only where `tests/house/test_floors.py` has one above the other.

Nothing outside this folder may import `click` or `rich`, but for the summary of a simulation.
"""
