"""The protocols that the command knows.

`table` finds out whose some bytes are and has them read; `reading` says what a row of it is and what comes out. Its
rows are `batsim5`, `legacy` and `fast`.
"""
