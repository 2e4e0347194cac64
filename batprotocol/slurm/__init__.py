"""Slurm: a client of a real one, which calls its commands or slurmrestd.

This package must not know schedulers, simulations, logs and campaigns.
"""
