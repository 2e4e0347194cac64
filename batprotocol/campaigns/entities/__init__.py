"""The entities of the specification, each a module. They decide upon values, without any I/O.

`updator` reads the answers of the clusters. `failures` defines the effect of the end of a job. Then `cycle` calls:

1. `forecasting`, which makes the rows of forecasts with the numbers of `predictor`;
2. `metascheduler`, which launches the `scheduler` of each campaign on the clusters, within the limits of `regulators`
   (the predictor, `taps` or a `controller`). A job has one task, or several by `grouping`;
3. `runner`, which selects the tasks to submit;
4. `nikita`, which wipes jobs.

`hindrances` lists the reasons why campaigns wait.
"""
