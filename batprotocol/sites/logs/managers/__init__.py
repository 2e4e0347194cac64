"""The formats of Slurm, PBS, LSF, Grid Engine, OAR with CiGri, Flux and ElastiSim: a reader in each module.

`rows` has all that they share: values that may be missing, times in their order, and rows of one job put together.
"""
