"""`batproto at`, `stats`, `replay`, `diff`, `timeline`, `tap` and `export`: recording runs, and looking at them.

`command` has their parameters, and the modules of their names do the work; `known` prints what is known at a moment,
for all of them. What they find, `batprotocol.capture` knows.
"""
