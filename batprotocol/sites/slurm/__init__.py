"""Slurm: the files of a site as values, and a client of a real one, which calls its commands or slurmrestd.

`configuration` reads slurm.conf and topology.conf, `accounting` the tables of sacctmgr. This package must not know
schedulers, simulations, logs and campaigns.
"""
