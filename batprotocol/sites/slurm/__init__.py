"""Slurm: the files of a site as values, and a client of a real one, which calls its commands or slurmrestd.

`configuration` reads slurm.conf and topology.conf, `accounting` the tables of sacctmgr, `client` asks a running Slurm.
Each text of Slurm (times, resources, states, ids...) is read in `texts`, also for logs.
"""
