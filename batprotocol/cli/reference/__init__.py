"""`batproto schema`, `rules` and `policies`: what may be said, and which schedulers there are, as text for people.

`command` has their parameters; `batsim5`, `legacy` and `fast` tell the fields of each protocol, `rules` the rules
of all, and `policies` the parts of the ready schedulers.
"""
