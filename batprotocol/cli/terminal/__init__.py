"""The terminal: `output` prints on it, `text` makes the text of other programs safe to print, `grids` prints tables,
`left_out` reports the rows that readers left out."""
