"""`batproto bridge`: `bridge` has its parameters, `ends` makes of them a bridge; for `run` and `simulate`, too."""
