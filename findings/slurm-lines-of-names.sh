#!/usr/bin/env bash
# A job's name may have line breaks, and squeue prints them: a line of its output is not a job.
#
# Versions: Slurm 22.05.8 (Debian 12).
# Guess: `squeue -h -o '%i|%j|%T'` prints a line for each job, as sbatch refuses such a name or squeue escapes it.
# Seen: sbatch takes the name, squeue prints it as it is, so two jobs are three lines, and no field of the second line is a
# number. `scontrol -o show job`, whose option stands for one line, breaks, too.
# Here: the client of Slurm has `squeue` print a mark before each job and the name last, so that a name may have any lines.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_slurm 1 SelectType=select/linear
job -H -J 'a plain name' --wrap true >/dev/null
job -H -J $'two\nlines' --wrap true >/dev/null

{
    version
    squeue -h -S i -o '%i|%j|%T'
    echo "squeue: $(squeue -h | wc -l) lines"
    echo "scontrol -o show job 2: $(scontrol -o show job 2 | wc -l) lines"
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
1|a plain name|PENDING
2|two
lines|PENDING
squeue: 3 lines
scontrol -o show job 2: 2 lines
EXPECTED
echo "as it was seen"
