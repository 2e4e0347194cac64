"""What users name on the command line, opened: `runs` is the one place that knows what a name of a run may mean."""
