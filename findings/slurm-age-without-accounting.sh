#!/usr/bin/env bash
# Without accounting, the age of a job adds nothing to its priority, however long it waits.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: with priority/multifactor, PriorityWeightAge=1000, PriorityMaxAge of a minute and PriorityCalcPeriod of a minute, a
# job that waits for 65 seconds has most of the 1000: age needs no data base, only a clock.
# Seen: the first priorities stay as they were: AGE is 0 and the priority is that of the partition. Slurm only computes
# priorities again where slurmdbd keeps the accounts, and says nothing of it.
# Here: the policy `slurm` leaves ages at 0 without a slurmdbd, and the page of slurm.conf says so.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 1 SelectType=select/linear PriorityType=priority/multifactor PriorityWeightAge=1000 PriorityMaxAge=00:01:00 \
    PriorityCalcPeriod=00:01:00 PriorityWeightPartition=500
first=$(job -N1 --wrap 'sleep 300')
wait_for 30 is "$first" RUNNING
second=$(job -N1 --wrap true)
sleep 65

{
    version
    scontrol show config | grep -E '^Priority(Type|WeightAge|MaxAge|CalcPeriod) ' | sed 's/ *$//'
    waited=$(($(date +%s) - $(date -d "$(squeue -h -j "$second" -o %V)" +%s)))
    echo "waited for at least 65 s: $([ $waited -ge 65 ] && echo yes || echo no)"
    sprio -h -j "$second" -o 'job %i: priority %Y, of it age %A, partition %P'
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
PriorityCalcPeriod      = 00:01:00
PriorityMaxAge          = 00:01:00
PriorityType            = priority/multifactor
PriorityWeightAge       = 1000
waited for at least 65 s: yes
job 2: priority 500, of it age 0, partition 500
EXPECTED
echo "as it was seen"
