"""The entities of the specification, each a module: they decide upon values, without any I/O.

`updator` takes in what the clusters said, with `failures`, which knows what the end of a job means. Then `cycle` asks
`forecasting`, which keeps the rows of what `predictor` calculates; `metascheduler`, which launches each campaign's own
`scheduler` on the clusters, by what `regulators` allow (the predictor, `taps`, or a `controller`), in jobs of one task
or, by `grouping`, of several; `runner`, which tells what to submit; and `nikita`, which wipes. `hindrances` tells for
whom campaigns wait.
"""
