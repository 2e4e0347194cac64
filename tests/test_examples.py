"""The schedulers in examples/: against the Batsim side of every recorded run, and for what each of them is there for."""
