"""Random clusters, configurations and workloads from seeds, what a real Slurm does with them, and its recordings.

A plan is made from a kind and a seed (`kinds`, with `workloads`). `clusters` starts its Slurm, `driving` submits its
jobs and gives its commands, `reading` makes a recording of what Slurm printed, and `archives` keeps many of them.
"""
