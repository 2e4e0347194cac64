"""`batproto schema`, `rules` and `policies`: messages, rules and built-in policies as text for the terminal.

`command` has their parameters; `batsim5`, `legacy` and `fast` print the fields of each protocol (the last two by
`told`), `rules` all rules, and `policies` the parts of the built-in policies. Of schemas, `ages` finds those that
messages fit, `differences` compares two, `dissectors` prints one for Wireshark, and `vocabulary` prints those of
requests and offers.
"""
