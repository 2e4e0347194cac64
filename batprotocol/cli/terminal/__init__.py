"""What a command has of the terminal: `output` prints on it, `text` makes what others wrote safe to print.

`grids` prints tables.
"""
