#!/usr/bin/env bash
# The number of the next job depends on how many tasks of an array before it have started.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: jobs that are submitted in the same order to a new cluster get the same numbers, so that a script of commands such as
# `scancel 7` or `-d afterany:3` can be run once more.
# Seen: an array takes one number. Each task that starts while others wait takes one more from the same counter. So the job after an
# array of five has the next number, or one that is three larger, if three tasks have started meanwhile. A command of such a script
# then reaches another job, without an error.
# Here: `tools/real_slurm.py --again` names the jobs in commands by their places in the plan, and not by their numbers.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 3 SelectType=select/linear
three_run() { [ "$(squeue -h -r -t RUNNING -o %i | wc -l)" = 3 ]; }
held=$(job -H -N1 --array=0-4%3 --wrap 'sleep 300')
after_held=$(job -H -N1 --wrap true)
runs=$(job -N1 --array=0-4%3 --wrap 'sleep 300')
wait_for 60 three_run
after_runs=$(job -H -N1 --wrap true)
{
    version
    echo "array $held waits, and the next job is $after_held"
    echo "array $runs runs three tasks, and the next job is $after_runs"
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
array 1 waits, and the next job is 2
array 3 runs three tasks, and the next job is 7
EXPECTED
echo "as it was seen"
