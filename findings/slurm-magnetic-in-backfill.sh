#!/usr/bin/env bash
# Backfill starts jobs in magnetic reservations, and plans a job that one attracts twice.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: a reservation with Flags=MAGNETIC attracts jobs in the main loop only, and backfill plans each job once.
# Seen: with the main loop off, a job that names no reservation starts in it. One that waits is planned twice in each run, in the
# reservation and then outside of it. So one job has plans on two nodes, and who reads the log for its start finds both.
# Here: the policy `slurm` plans such jobs twice, in the reservation first.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 2 SelectType=select/linear DebugFlags=Backfill 'SchedulerParameters=sched_interval=-1,defer,bf_interval=1'
outside=$(job -N1 -w n0 -t 30 --wrap 'sleep 300')
wait_for 60 is "$outside" RUNNING
scontrol create reservation ReservationName=m StartTime=now Duration=30 Users="$(id -un)" Nodes=n1 Flags=MAGNETIC >made.txt
inside=$(job -N1 -t 10 --wrap 'sleep 300')
wait_for 60 is "$inside" RUNNING
waits=$(job -N1 -t 10 --wrap 'sleep 300')
wait_for 60 grep -q "JobId=$waits to start at .* on nodes n0" ctld.log
sleep 2
{
    version
    echo "job $inside runs on $(squeue -h -j "$inside" -o %N), started by $(grep -o "[a-z/]*: _start_job: Started JobId=$inside " ctld.log | cut -d: -f1)"
    grep "JobId=$waits to start at" ctld.log | sed 's/.*\(JobId=[0-9]*\) to start.*\(on nodes [^ ]*\) .*/\1 is planned \2/' | head -n 2
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
job 2 runs on n1, started by sched/backfill
JobId=3 is planned on nodes n1
JobId=3 is planned on nodes n0
EXPECTED
echo "as it was seen"
