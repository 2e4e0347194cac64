#!/usr/bin/env bash
# A limit of a quality of service switches the limit of the account for the same resource off, also where it is larger.
#
# Versions: Slurm 22.05.8 (Debian 12), with slurmdbd on MariaDB.
# Guess: both limits hold, so that the smaller one decides.
# Seen: an account with GrpTRES=cpu=4 has a job of 8 CPUs, if the job's quality of service has GrpTRES=cpu=8.
# Here: the policy `slurm` lets a limit of a quality of service hide that of the account.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/_slurm.sh"

start_accounting
start_slurm 2 SelectType=select/cons_tres SelectTypeParameters=CR_CPU AccountingStorageEnforce=associations,limits,qos "${accounting[@]}"
sacctmgr -i add account a GrpTRES=cpu=4 >added.txt
sacctmgr -i add qos large GrpTRES=cpu=8 >>added.txt
sacctmgr -i add user "$(id -un)" account=a qos=normal,large defaultqos=normal >>added.txt
sacctmgr -i modify user "$(id -un)" where account=a set qos=normal,large >>added.txt
sleep 2
try() {
    local one
    one=$(job -A a "$@" --wrap 'sleep 300')
    sleep 6
    echo "$*: $(squeue -h -j "$one" -o '%T %r')"
    scancel "$one"
    wait_for 30 gone "$one"
}
{
    version
    try -n8 --qos=normal
    try -n8 --qos=large
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
slurm-wlm 22.05.8
-n8 --qos=normal: PENDING AssocGrpCpuLimit
-n8 --qos=large: RUNNING None
EXPECTED
echo "as it was seen"
