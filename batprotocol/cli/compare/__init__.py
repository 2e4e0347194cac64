"""`batproto compare`: compare two runs. `command` has its parameters, and `comparison` does the work."""
