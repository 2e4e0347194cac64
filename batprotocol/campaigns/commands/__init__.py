"""`batproto grid`: campaigns.

`command` has the parameters of its commands. Their work is in `requests` (requests of users to the store), `stat` (the
states of campaigns), `printed` (the output of failed jobs), `run` (the loop) and `simulate`.
"""
