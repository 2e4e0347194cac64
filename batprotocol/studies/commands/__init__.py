"""The commands `study`, `whatif` and `compare`: their options, and private modules that do their work."""
