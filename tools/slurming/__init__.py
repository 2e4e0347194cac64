"""A real Slurm on this machine, for tools/real_slurm.py: situations, clusters, accounting, and what is recorded."""
