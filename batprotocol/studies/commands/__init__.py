"""`batproto study`: many simulations, and their results.

`command` is the family. `runs` has the commands that run, list and merge simulations, and `run` and `listing` do their
work. `results` has the commands that make tables and plots, and `tables`, `plotting` and `metrics` do their work.
"""
