#!/usr/bin/env bash
# A job that gives way on one of its nodes keeps the others, and they stand idle for all but jobs of a higher tier.
#
# Versions: Slurm 22.05.8 (Debian 12), select/linear, PreemptType=preempt/partition_prio, PreemptMode=SUSPEND,GANG.
# Guess: nothing runs on the nodes of a suspended job, so that any job can start on those which the preempting one has not.
# Seen: nothing runs on such a node, and a job of the tier of the suspended job waits there all the same. A job of a higher tier
# starts there at once. So a small job of a high tier can leave a large part of a cluster idle.
# Here: the policy `slurm` keeps the nodes of suspended jobs for higher tiers.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 2 SelectType=select/linear PreemptType=preempt/partition_prio PreemptMode=SUSPEND,GANG \
    'SchedulerParameters=bf_interval=1,batch_sched_delay=0' 'PartitionName=high Nodes=ALL PriorityTier=9 MaxTime=INFINITE'
low=$(job -N2 -t 10 -J low --wrap 'sleep 300')
wait_for 30 is "$low" RUNNING
high=$(job -N1 -w n0 -t 10 -p high -J high --wrap 'sleep 300')
wait_for 30 is "$low" SUSPENDED
wait_for 30 is "$high" RUNNING
same=$(job -N1 -w n1 -t 1 -J same --wrap 'sleep 300')
sleep 10
states() { squeue -h -S i -o '%j: %T'; }
{
    version
    states
    more=$(job -N1 -w n1 -t 10 -p high -J more --wrap 'sleep 300')
    wait_for 30 is "$more" RUNNING
    states
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
low: SUSPENDED
high: RUNNING
same: PENDING
low: SUSPENDED
high: RUNNING
same: PENDING
more: RUNNING
EXPECTED
echo "as it was seen"
