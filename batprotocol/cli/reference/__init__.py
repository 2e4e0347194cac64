"""`batproto schema` and `rules`: what may be said, as text for people.

`command` has their parameters; `batsim5`, `legacy` and `fast` tell the fields of each protocol, and `rules` the rules
of all.
"""
