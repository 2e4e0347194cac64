#!/usr/bin/env bash
# An option of a later component of a heterogeneous job reaches the components before it.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: as the page of Slurm says, an option of one component is used for the following ones; those before keep their defaults.
# Seen: with `sbatch -N1 : -t5 -N1`, both components have the limit, and a nice value of the second one is that of the first, too.
# Here: a replay of recordings passes options to the components before, as sbatch does.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 2 SelectType=select/linear
one=$(job -H -N1 : -t5 --nice=30 -N1 --wrap true)
{
    version
    for number in "$one" $((one + 1)); do
        scontrol show job -o "$number" | tr ' ' '\n' | grep '^TimeLimit=\|^Nice=' | sort -u | paste -sd' '
    done
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
Nice=30 TimeLimit=00:05:00
Nice=30 TimeLimit=00:05:00
EXPECTED
echo "as it was seen"
