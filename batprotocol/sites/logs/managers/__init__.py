"""Logs of resource managers beside Slurm and PBS: LSF, OAR, CiGri and Flux. Each reader is a module here.

`making` has all that they share, also with the reader of PBS: values that may be missing, and times in their order.
"""
