#!/usr/bin/env bash
# PSI/J gives one time limit to five schedulers, and two of them get another one: none, or zero.
#
# Versions: psij-python 0.9.11.
# Guess: a job's duration of 90 seconds stands in each scheduler's script as 90 seconds, or as 2 minutes where only minutes exist.
# Seen: Slurm and PBS get 90 seconds. LSF, whose limits are minutes, gets 0:1, and for 30 seconds 0:0: rounded down. The script for
# Cobalt has an empty limit, whatever was asked for.
# Here: docs/reference/campaigns.md says what the type `psij` does about limits.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q psij-python==0.9.11

cat >look.py <<'PYTHON'
import importlib.metadata
import io
import re
from datetime import timedelta

from psij import Job, JobAttributes, JobExecutor, JobSpec, ResourceSpecV1

print("psij-python", importlib.metadata.version("psij-python"))
for name in ("slurm", "pbs", "lsf", "cobalt"):
    executor = JobExecutor.get_instance(name)
    limits = []
    for seconds in (90, 30):
        attributes = JobAttributes(duration=timedelta(seconds=seconds))
        job = Job(JobSpec(executable="/bin/true", resources=ResourceSpecV1(node_count=1), attributes=attributes))
        script = io.StringIO()
        executor.generate_submit_script(job, executor._create_script_context(job), script)
        limits.append(re.search(r"^#\w+ .*(?:time=|-W )(\S+)", script.getvalue(), re.M)[1])
    print(f"{name}: 90 s are {limits[0]}, 30 s are {limits[1]}")
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
psij-python 0.9.11
slurm: 90 s are 0:1:30, 30 s are 0:0:30
pbs: 90 s are 0:1:30, 30 s are 0:0:30
lsf: 90 s are 0:1, 30 s are 0:0
cobalt: 90 s are '', 30 s are ''
EXPECTED
echo "as it was seen"
