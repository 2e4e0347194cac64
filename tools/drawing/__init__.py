"""The sources of figures that are generated from tables, in Graphviz's language. `draw` makes figures of them."""
