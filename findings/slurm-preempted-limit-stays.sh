#!/usr/bin/env bash
# Whether time in suspension counts for the time limit depends on who suspends the job, and on the plugin that selects nodes.
#
# Versions: Slurm 22.05.8 (Debian 12), PreemptType=preempt/partition_prio, PreemptMode=SUSPEND,GANG.
# Guess: the limit is one of running time, so that the end of a job moves by the time for which it was suspended.
# Seen: so it is after `scontrol suspend`, and where select/cons_tres suspends a job for one of a higher tier. Where select/linear
# does, the end stays: a job of one minute that gave way for most of it is killed after the rest, with the state PREEMPTED.
# So users lose work that their limit allowed, and the state does not name the limit.
# Here: the policy `slurm` moves the limit in the same cases.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

seconds() { # NUMBER: from its start to its announced end
    local shown
    shown=$(scontrol -o show job "$1")
    echo $(($(date -d "$(grep -o ' EndTime=[^ ]*' <<<"$shown" | cut -d= -f2)" +%s) - $(date -d "$(grep -o ' StartTime=[^ ]*' <<<"$shown" | cut -d= -f2)" +%s)))
}
end() { [ "$(seconds "$1")" -ge 80 ] && echo moved || echo stays; }
killed() { scontrol show job "$low" | grep -q JobState=PREEMPTED; }
start() {
    start_slurm 1 "$@" PreemptType=preempt/partition_prio PreemptMode=SUSPEND,GANG SchedulerTimeSlice=5 \
        'SchedulerParameters=bf_interval=1,batch_sched_delay=0' 'PartitionName=high Nodes=ALL PriorityTier=9 MaxTime=INFINITE'
}
gives_way() { # SECONDS: a job of one minute, low, gives way for so long
    low=$(job -N1 -n4 -t 1 --wrap 'sleep 600')
    wait_for 30 is "$low" RUNNING
    high=$(job -N1 -n4 -t 2 -p high --wrap "sleep $1")
    wait_for 30 is "$low" SUSPENDED
    wait_for 90 is "$low" RUNNING
}
{
    version
    start SelectType=select/cons_tres SelectTypeParameters=CR_Core
    gives_way 30
    echo "cons_tres, gave way: the end $(end "$low")"
    stop
    started=()
    rm -rf state slurmctld slurmd
    start SelectType=select/linear
    low=$(job -N1 -t 1 --wrap 'sleep 600')
    wait_for 30 is "$low" RUNNING
    scontrol suspend "$low"
    sleep 30
    scontrol resume "$low"
    wait_for 30 is "$low" RUNNING
    echo "linear, scontrol suspend: the end $(end "$low")"
    scancel "$low"
    wait_for 60 gone "$low"
    gives_way 50
    echo "linear, gave way: the end $(end "$low")"
    wait_for 120 killed
    run=$(scontrol -o show job "$low" | grep -o ' RunTime=00:[^ ]*' | cut -d: -f2-)
    echo "its state is PREEMPTED, and it ran for less than its minute: $([ "${run%%:*}" = 00 ] && echo yes || echo "no, $run")"
} >seen.txt # not into a pipe, as what starts must be known to the trap
cat seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
cons_tres, gave way: the end moved
linear, scontrol suspend: the end moved
linear, gave way: the end stays
its state is PREEMPTED, and it ran for less than its minute: yes
EXPECTED
echo "as it was seen"
