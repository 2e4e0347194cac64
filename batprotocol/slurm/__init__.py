"""Slurm, as other packages use it: its commands and REST API. It must not know what jobs are for."""
