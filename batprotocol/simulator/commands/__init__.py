"""`batproto simulate`: `command` is the command, `options` has its options, and `simulation` does the work."""
