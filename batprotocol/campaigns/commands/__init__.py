"""`batproto grid`: campaigns.

`grid` has its commands, and `options` their options. Their work is in `requests` (requests of users to the store, the
states of campaigns, the output of failed jobs) and `run` (the loop, and simulations).
"""
