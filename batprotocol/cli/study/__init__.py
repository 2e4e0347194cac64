"""`batproto study`: many simulations, and what came of them.

`command` is the family. `runs` has the commands that run simulations, with `run` and `listing` (what there is, and
merging) for the work; `results` those that make tables and plots of results, with `tables`, `plotting` and `metrics`.
"""
