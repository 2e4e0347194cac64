"""The sources of figures that are made of tables, in Graphviz's language. `draw` makes figures of them."""
