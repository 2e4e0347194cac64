"""`batproto study`: many simulations, and what came of them.

`command` is the family; `results` has the commands that make tables and plots of results, with `tables`, `plotting` and
`metrics` for the work.
"""
