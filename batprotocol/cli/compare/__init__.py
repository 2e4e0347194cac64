"""`batproto compare`: two runs side by side. `command` has its parameters, and `comparison` does the work."""
