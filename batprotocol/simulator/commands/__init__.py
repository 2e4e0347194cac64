"""`batproto simulate`: `command` has its options, and `simulation` simulates and prints the results."""
