"""`batproto whatif`: `command` has its parameters, and `asking` runs the study and writes the report."""
