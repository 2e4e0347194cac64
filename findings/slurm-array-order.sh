#!/usr/bin/env bash
# The tasks of an array run by their index, whatever order was written.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: `--array=3,1,2%1` runs the tasks 3, 1, 2, one at a time, and the first to run has the number of the array.
# Seen: they run as 1, 2, 3. The array's own number, 1, belongs to the last to start, task 3; tasks 1 and 2 have later numbers.
# Here: tasks of arrays are named by array and index.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 1 SelectType=select/linear
array=$(job -N1 --array=3,1,2%1 --wrap 'sleep 1')
wait_for 90 gone "$array"
sleep 1
{
    version
    scontrol -o show job "$array" | sed -E 's/^JobId=([0-9]+) .*ArrayTaskId=([0-9]+) .* StartTime=([^ ]+).*/\3 task \2 is job \1/' | sort | cut -d' ' -f2-
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
task 1 is job 2
task 2 is job 3
task 3 is job 1
EXPECTED
echo "as it was seen"
