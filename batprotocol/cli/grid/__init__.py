"""`batproto grid`: campaigns.

`command` has the parameters of its commands. Their work is in `requests` (what users ask of the store), `stat` (how
campaigns are), `printed` (what failed jobs printed), `run` (the loop) and `simulate`.
"""
