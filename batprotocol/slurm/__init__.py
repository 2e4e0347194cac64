"""The files of a Slurm site, read as values: slurm.conf, topology.conf, and what sacctmgr prints.

This package must not know schedulers, simulations and logs.
"""
