"""Opens the runs that users name on the command line: `runs` is the only module that knows the forms of such names."""
