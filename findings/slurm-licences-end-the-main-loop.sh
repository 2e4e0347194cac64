#!/usr/bin/env bash
# With `bf_licenses`, one job that lacks licences keeps the main loop from all jobs behind it, in other partitions as well.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: `SchedulerParameters=bf_licenses` changes backfill only, as its name and the manual say. The main loop skips a job that lacks
# licences, and starts those behind it.
# Seen: without it, a job behind starts. With it, the main loop ends at the job that lacks licences, and the job behind waits on an
# idle node of its own partition until backfill comes. Where backfill is off (bf_interval=-1), it waits as long as the other does.
# So jobs that need no licence wait for backfill, for up to `bf_interval`, and for longer behind its bounds (bf_max_job_test).
# Here: the policy `slurm` ends its main loop there, too.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

try() { # SchedulerParameters
    start_slurm 2 SelectType=select/linear SlurmctldDebug=debug "SchedulerParameters=batch_sched_delay=0,sched_interval=2,$1" \
        Licenses=l:1 'PartitionName=q Nodes=n1 MaxTime=INFINITE'
    local has lacks behind state by
    has=$(job -N1 -w n0 -t 60 -L l:1 --wrap 'sleep 600')
    wait_for 60 is "$has" RUNNING
    lacks=$(job -N1 -w n0 -t 60 -L l:1 --wrap 'sleep 600')
    sleep 3
    behind=$(job -p q -N1 -t 1 --wrap 'sleep 600')
    for _ in {1..40}; do ! is "$behind" RUNNING || break; sleep 1; done
    state=$(squeue -h -j "$behind" -o %T)
    by=$(grep -q "backfill: _start_job: Started JobId=$behind " ctld.log && echo ' by backfill' || true)
    echo "$1: job $lacks is $(squeue -h -j "$lacks" -o '%T for %r'), job $behind of q is $state$by$([ "$state" = RUNNING ] || echo ", idle nodes of q: $(sinfo -h -p q -t idle -o %D)")"
    echo "    the main loop stopped for job $lacks: $(grep -q "JobId=$lacks is blocked on licenses. Stopping scheduling" ctld.log && echo yes || echo no)"
    stop
    started=()
    rm -rf state slurmctld slurmd ctld.log
}
{
    version
    try bf_interval=-1
    try bf_interval=-1,bf_licenses
    try bf_interval=5,bf_licenses
} >seen.txt # not into a pipe, as what starts must be known to the trap
cat seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
bf_interval=-1: job 2 is PENDING for Licenses, job 3 of q is RUNNING
    the main loop stopped for job 2: no
bf_interval=-1,bf_licenses: job 2 is PENDING for Licenses, job 3 of q is PENDING, idle nodes of q: 1
    the main loop stopped for job 2: yes
bf_interval=5,bf_licenses: job 2 is PENDING for Licenses, job 3 of q is RUNNING by backfill
    the main loop stopped for job 2: yes
EXPECTED
echo "as it was seen"
