#!/usr/bin/env bash
# Backfill plans a job that names two partitions once in each, so the jobs behind it wait for a run that never comes.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: a job with `-p p,q` runs once, so a job behind it is planned at its end, as behind a job of one partition.
# Seen: behind a job of five minutes in one partition, the next is planned up to 5 minutes later; behind the same job
# with `-p p,q`, up to 10 (starts are rounded down to minutes).
# Here: the policy `slurm` tries such a job in each of its partitions, as backfill does.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 2 SelectType=select/linear 'SchedulerParameters=bf_interval=1,batch_sched_delay=0' 'PartitionName=q Nodes=n0,n1 MaxTime=INFINITE'
running=$(job -N2 -t 5 --wrap 'sleep 300')
wait_for 30 is "$running" RUNNING

planned() { squeue -h --start -j "$1" -o %S | grep -q ^2; }
between() { # FIRST SECOND: their planned starts, which are rounded down to minutes
    local seconds
    seconds=$(($(date -d "$(squeue -h --start -j "$2" -o %S)" +%s) - $(date -d "$(squeue -h --start -j "$1" -o %S)" +%s)))
    if [ $seconds -gt 240 ] && [ $seconds -le 300 ]; then echo "4 to 5 minutes"
    elif [ $seconds -gt 480 ] && [ $seconds -le 600 ]; then echo "8 to 10 minutes"
    else echo "$seconds seconds"; fi
}
behind() { # WORDS of the job in front
    local front next
    front=$(job -N2 -t 5 "$@" --wrap true)
    next=$(job -N2 -t 1 --wrap true)
    wait_for 60 planned "$front"
    wait_for 60 planned "$next"
    sleep 3
    echo "behind a job with $*: $(between "$front" "$next") after its start"
    scancel "$front" "$next"
    wait_for 30 gone "$next"
}
{
    version
    behind -p p
    behind -p p,q
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
behind a job with -p p: 4 to 5 minutes after its start
behind a job with -p p,q: 8 to 10 minutes after its start
EXPECTED
echo "as it was seen"
