"""`batproto simulate`: `command` has its parameters, and `simulation` simulates and prints the results.

`groups` prints those of groups of jobs.
"""
