"""Studies: many simulations, compared as a paper would.

`comparing` makes tables, plots and comparisons of rows, wherever these come from.
"""
