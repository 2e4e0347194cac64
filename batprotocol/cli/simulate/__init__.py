"""`batproto simulate`: `command` has its parameters, `simulation` simulates and prints the results."""
