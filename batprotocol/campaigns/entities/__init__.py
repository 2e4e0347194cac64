"""The entities of the specification, each a module: they decide upon values, without any I/O."""
