#!/usr/bin/env bash
# The start that Slurm announces for a waiting job can lie before the end of the job that it waits for.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: a plan keeps nodes until the jobs in front end, so `squeue --start` prints that end, or a time shortly after it.
# Seen: planned starts behind planned jobs are whole minutes of the clock (bf_resolution), rounded down: up to 59 seconds
# before the announced end of the job in front, on the same nodes.
# Here: the policy `slurm` rounds on the clock as backfill does (bf_resolution).
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 2 SelectType=select/linear 'SchedulerParameters=bf_interval=1,batch_sched_delay=0'
while second=$((10#$(date +%S))) && { [ $second -lt 15 ] || [ $second -gt 45 ]; }; do sleep 1; done
running=$(job -N2 -t 5 --wrap 'sleep 300')
wait_for 30 is "$running" RUNNING
front=$(job -N2 -t 5 --wrap true)
next=$(job -N2 -t 1 --wrap true)
planned() { squeue -h --start -j "$1" -o %S | grep -q ^2; }
wait_for 60 planned "$front"
wait_for 60 planned "$next"
sleep 3

{
    version
    ends=$(date -d "$(squeue -h -j "$front" -o %e)" +%s)
    starts=$(date -d "$(squeue -h --start -j "$next" -o %S)" +%s)
    squeue -h --start -S i -j "$front,$next" -o 'job %i: %D nodes of 2'
    echo "the start of job 3 is a whole minute: $([ $((starts % 60)) = 0 ] && echo yes || echo no)"
    echo "it is before the end of job 2: $([ $starts -lt $ends ] && echo yes || echo no)"
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
job 2: 2 nodes of 2
job 3: 2 nodes of 2
the start of job 3 is a whole minute: yes
it is before the end of job 2: yes
EXPECTED
echo "as it was seen"
