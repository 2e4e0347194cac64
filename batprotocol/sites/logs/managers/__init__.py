"""The formats of Slurm, PBS, LSF, Grid Engine, OAR with CiGri, Flux and ElastiSim: a module for each.

Slurm has three: `sacct` reads files, `sacct_columns` finds columns and divides lines, `sacct_rows` reads each value.

`rows` has all that they share: values that may be missing, times in their order, and rows of one job put together.
"""
