#!/usr/bin/env bash
# Under priority/basic, `scontrol release` of a waiting job that nobody holds sends it to the end of the queue.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: releasing a job that is not held changes nothing.
# Seen: it gets the next priority, so that it is behind all jobs that wait, and its nice value is forgotten.
# Here: the policy `slurm` does the same.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 1 SelectType=select/linear PriorityType=priority/basic
running=$(job -N1 -J running --wrap 'sleep 300')
wait_for 30 is "$running" RUNNING
first=$(job -N1 -J first --nice=1 --wrap true)
for each in second third; do job -N1 -J $each --wrap true >/dev/null; done
scontrol release "$first"
{
    version
    squeue -h -t PENDING -S -p,i -o '%j %Q %y' | while read -r name priority nice; do echo "$name $((4294901759 - priority)) nice $((nice - 2147483648 > -1000 ? nice - 2147483648 : nice))"; done
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
second 2 nice 0
third 3 nice 0
first 4 nice 0
EXPECTED
echo "as it was seen"
