"""Logs of resource managers beside Slurm: PBS, LSF, OAR, CiGri and Flux. Each reader is a module or package here.

`making` has what they share: values that may be missing, and times in their order.
"""
