#!/usr/bin/env bash
# In sacct a job that never ran has a start, nodes and CPUs.
#
# Versions: Slurm 22.05.8 (Debian 12), with slurmdbd on MariaDB.
# Guess: a job that is cancelled while it waits has a row with the state CANCELLED, with 0 nodes and an unknown start, as the
# columns are those of what was allocated.
# Seen: its row has the nodes and CPUs that it asked for (the CPUs not even those that it would have got), and its Start is its
# End. Only AllocTRES is empty.
# Here: `import` takes such a job for one that never started.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_accounting
start_slurm 3 SelectType=select/cons_tres SelectTypeParameters=CR_CPU "${accounting[@]}"
ran=$(job -N3 --exclusive --wrap 'sleep 8')
wait_for 30 is "$ran" RUNNING
waited=$(job -N3 --exclusive --wrap true)
sleep 1
scancel "$waited"
wait_for 60 gone "$ran"
all_told() { [ "$(sacct -X -n -P -j "$ran" -o State)" = COMPLETED ]; }
wait_for 60 all_told
{
    version
    sacct -X -P -n -j "$ran,$waited" -o JobID,State,NNodes,NCPUS,AllocTRES,Start,End | while IFS='|' read -r id state nodes cpus tres start end; do
        echo "job $id ${state% by *}: $nodes nodes, $cpus CPUs, allocated '$tres', $([ "$start" = "$end" ] && echo 'starts at its end' || echo 'starts before its end')"
    done
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
job 1 COMPLETED: 3 nodes, 12 CPUs, allocated 'billing=12,cpu=12,node=3', starts before its end
job 2 CANCELLED: 3 nodes, 3 CPUs, allocated '', starts at its end
EXPECTED
echo "as it was seen"
