"""Sites: `logs` reads the logs of resource managers, `slurm` the files of a Slurm site, and runs its commands."""
