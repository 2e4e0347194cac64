#!/usr/bin/env bash
# Under priority/basic, `--nice` counts places in the queue: a nice job soon runs before jobs that are not nice.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: a job with `--nice=2` runs after all jobs without it, those submitted later as well.
# Seen: each submission has a priority one lower than that before, and nice is subtracted from it. So one later job passes the
# job with `--nice=2`, the second has the same priority and a higher number, and all others run after it.
# Here: the policy `slurm` counts priorities of priority/basic in the same way.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 1 SelectType=select/linear PriorityType=priority/basic
running=$(job -N1 -J running --wrap 'sleep 300')
wait_for 30 is "$running" RUNNING
job -N1 -J nice --nice=2 --wrap true >/dev/null
for each in 1 2 3 4; do job -N1 -J later$each --wrap true >/dev/null; done
{
    version
    squeue -h -t PENDING -S -p,i -o '%j %Q' | while read -r name priority; do echo "$name $((4294901759 - priority))"; done
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
later1 2
nice 3
later2 3
later3 4
later4 5
EXPECTED
echo "as it was seen"
