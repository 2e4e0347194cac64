"""The entities of the specification. They decide upon values, without any I/O.

`failures` reads the answers of the clusters (the updator), defines the effect of the end of a job, wipes jobs (nikita),
and lists the reasons why campaigns wait. `cycle` calls the others in their order:

1. `prediction` makes the rows of forecasts (the predictor);
2. `scheduling` launches the scheduler of each campaign on the clusters (the metascheduler). A job has one task, or
   several;
3. `regulation` limits the jobs on each cluster, by the predictor, by taps or by a controller, and selects the tasks to
   submit (the runner).
"""
