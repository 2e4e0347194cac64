"""Campaigns of jobs on the idle resources of several clusters: CiGri's metascheduler.

A campaign is one program to be run many times, each time with other parameters. What CiGri's specification calls
entities decide without any I/O upon values, and give decisions, which are values too. The data take this way in each
cycle, which is a transaction of the store and then what the clusters are told:

    clusters -> observations -> updator -> update -> store -> grid -> predictor, metascheduler, campaign schedulers,
    runner, nikita -> decisions -> store -> clusters

- `model`: the values.
- `jdl`: campaigns out of texts, and the admission rules.
- `entities`: a module for each entity of the specification, and `cycle`, which lets them decide in their order.
- `text`: what CiGri's commands print, out of values.
"""
