#!/usr/bin/env bash
# A requeued job does not wait for nodes: for two minutes it waits for the clock, on an idle cluster.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: `scontrol requeue` puts a job back into the queue, and with free nodes it runs again at once.
# Seen: it is PENDING with the reason BeginTime, is eligible 121 seconds after the requeue, and has a new SubmitTime, the
# moment of the requeue; all nodes are idle meanwhile. No parameter of slurm.conf names the two minutes.
# Here: the policy `slurm` keeps the 121 seconds.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 1 SelectType=select/linear
one=$(job -N1 --wrap 'sleep 300')
wait_for 30 is "$one" RUNNING
before=$(squeue -h -j "$one" -o %V)
sleep 2
scontrol requeue "$one"
wait_for 30 is "$one" PENDING
sleep 5

{
    version
    squeue -h -j "$one" -o 'job %i: %T, %r'
    sinfo -h -o '%D node %T'
    record=$(scontrol -o show job "$one" | tr ' ' '\n')
    value() { sed -n "s/^$1=//p" <<<"$record"; }
    echo "eligible $(($(date -d "$(value EligibleTime)" +%s) - $(date -d "$(value SubmitTime)" +%s))) s after SubmitTime"
    echo "SubmitTime is another one: $([ "$(value SubmitTime)" != "$before" ] && echo yes || echo no)"
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
job 1: PENDING, BeginTime
1 node idle
eligible 121 s after SubmitTime
SubmitTime is another one: yes
EXPECTED
echo "as it was seen"
