"""`batproto simulate`: `command` has its parameters, `simulation` has it simulated and shows what came of it."""
