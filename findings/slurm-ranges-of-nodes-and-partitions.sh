#!/usr/bin/env bash
# A job whose range of nodes ends above MaxNodes never starts, although its begin fits.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: `sbatch -N1-3` in a partition with MaxNodes=2 gets two nodes.
# Seen: it waits with the reason PartitionNodeLimit, on an idle cluster, and `-N1-2` and `-n1` start. So does `-N1` with
# MinNodes=2 wait, and not get two nodes, as `-n1` does.
# Here: the policy `slurm` keeps such jobs waiting, too.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 3 SelectType=select/linear 'PartitionName=most Nodes=n[0-2] MaxNodes=2' 'PartitionName=least Nodes=n[0-2] MinNodes=2'
try() {
    local one
    one=$(job "$@" --wrap 'sleep 300')
    sleep 5
    echo "$*: $(squeue -h -j "$one" -o '%T %D %r')"
    scancel "$one"
    wait_for 30 gone "$one"
}
{
    version
    try -p most -N1-3
    try -p most -N1-2
    try -p least -N1
    try -p least -n1
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
-p most -N1-3: PENDING 1 PartitionNodeLimit
-p most -N1-2: RUNNING 2 None
-p least -N1: PENDING 1 PartitionNodeLimit
-p least -n1: RUNNING 2 None
EXPECTED
echo "as it was seen"
