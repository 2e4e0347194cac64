"""`batproto schema`, `rules` and `policies`: messages, rules and built-in policies as text for the terminal.

`command` has their parameters. `definitions` prints the fields of the current protocol, `comparison` the differences
between two schemas and the schemas that messages fit, and `reference` all else.
"""
