# A Slurm on this machine, for the scripts beside this file that source it. It listens on the loopback interface only.
#
#     start_slurm NODES [LINE OF slurm.conf]...   nodes n0, n1, ... of four CPUs; partition p
#     start_accounting                            before it: slurmdbd with a MariaDB of its own
#     job [WORDS OF sbatch]...                    submits, and prints the number
#     wait_for SECONDS COMMAND...                 until it succeeds
#
# All that it starts ends with the script.
export TZ=UTC PATH=$PATH:/usr/sbin
place=$(mktemp -d)
export SLURM_CONF=$place/slurm.conf
started=()
trap 'stop; rm -rf "$place"' EXIT
stop() {
    [ ${#started[@]} -gt 0 ] || return 0
    if [ -e slurmctld ] && scancel -f -u "$(id -un)" 2>/dev/null; then
        for _ in 1 2 3 4 5 6 7 8 9 10; do [ -n "$(squeue -h -t RUNNING,SUSPENDED,COMPLETING 2>/dev/null)" ] || break; sleep 0.5; done
    fi
    kill "${started[@]}" 2>/dev/null || true
    sleep 1
    kill -KILL "${started[@]}" 2>/dev/null || true # slurmd waits for ever for a slurmctld that is gone
    wait 2>/dev/null || true
}
cd "$place"

version() { "$(command -v slurmctld-wlm || command -v slurmctld)" -V; }

needed() { # PROGRAM...: of Debian's Slurm 22.05.8
    for each in "$@"; do
        command -v "$each" >/dev/null || { echo "$each is missing; install Debian 12's slurmctld, slurmd, slurmdbd and mariadb-server"; exit 1; }
    done
    [ "$(version)" = "slurm-wlm 22.05.8" ] || { echo "this needs slurm-wlm 22.05.8, and here is $(version)"; exit 1; }
}

ports() { # COUNT: free ones
    python3 -c "import socket; s = [socket.create_server(('127.0.0.1', 0)) for _ in range($1)]; print(*[e.getsockname()[1] for e in s])"
}

wait_for() {
    local last=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $last ] || { echo "it did not come to this: $*"; exit 1; }
        sleep 0.2
    done
}

job() { sbatch -o /dev/null --parsable "$@"; }
is() { [ "$(squeue -h -j "$1" -o %T 2>/dev/null)" = "$2" ]; } # NUMBER STATE
gone() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }
all_idle() { [ "$(sinfo -h -p p -t idle -o %D)" = "$1" ]; }

accounting=()
start_accounting() {
    needed slurmdbd mariadbd mariadb-install-db mariadb
    local at
    read -ra at <<<"$(ports 2)"
    mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$place/data" --auth-root-authentication-method=normal >installed.txt
    mariadbd --no-defaults --user="$(id -un)" --datadir="$place/data" --socket="$place/s" --port="${at[0]}" \
        --bind-address=127.0.0.1 >mariadb.txt 2>&1 &
    started+=($!)
    wait_for 60 mariadb --no-defaults -S "$place/s" -e 'select 1'
    mariadb --no-defaults -S "$place/s" -e "create user slurm@'127.0.0.1' identified by 'x'; create user slurm@localhost identified by 'x';
        grant all on acct.* to slurm@'127.0.0.1'; grant all on acct.* to slurm@localhost"
    printf '%s\n' AuthType=auth/none DbdHost=localhost "DbdPort=${at[1]}" "SlurmUser=$(id -un)" \
        StorageType=accounting_storage/mysql StorageHost=127.0.0.1 "StoragePort=${at[0]}" StorageUser=slurm StoragePass=x \
        StorageLoc=acct "LogFile=$place/dbd.log" "PidFile=$place/dbd.pid" >slurmdbd.conf
    chmod 600 slurmdbd.conf
    touch slurm.conf
    slurmdbd -D >dbd.txt 2>&1 &
    started+=($!)
    wait_for 60 grep -q started dbd.log
    accounting=(AccountingStorageType=accounting_storage/slurmdbd AccountingStorageHost=localhost "AccountingStoragePort=${at[1]}")
}

start_slurm() {
    needed slurmctld slurmd slurmstepd sbatch scontrol squeue sinfo
    local nodes=$1 host at i
    shift
    host=$(hostname)
    read -ra at <<<"$(ports $((nodes + 1)))"
    # Called by another name than slurmctld and slurmd, the programs behave otherwise.
    for each in slurmctld slurmd; do ln -s "$(command -v $each-wlm || command -v $each)" $each; done
    {
        printf '%s\n' ClusterName=c "SlurmctldHost=$host(127.0.0.1)" "SlurmUser=$(id -un)" "SlurmdUser=$(id -un)" \
            "SlurmctldPort=${at[0]}" AuthType=auth/none CredType=cred/none "StateSaveLocation=$place/state" \
            "SlurmdSpoolDir=$place/%n" "SlurmdPidFile=$place/%n.pid" "SlurmctldPidFile=$place/ctld.pid" \
            "SlurmctldLogFile=$place/ctld.log" "SlurmdLogFile=$place/%n.log" ProctrackType=proctrack/pgid TaskPlugin=task/none \
            SwitchType=switch/none MpiDefault=none SlurmdParameters=config_overrides ReturnToService=2 "${accounting[@]}" "$@"
        for ((i = 0; i < nodes; i++)); do
            echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=${at[i + 1]} CPUs=4 RealMemory=4000"
        done
        echo "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE"
    } >slurm.conf
    mkdir state
    ./slurmctld -D >ctld.txt 2>&1 &
    started+=($!)
    for ((i = 0; i < nodes; i++)); do
        ./slurmd -D -d "$(command -v slurmstepd)" -N n$i >n$i.txt 2>&1 &
        started+=($!)
    done
    wait_for 90 all_idle "$nodes"
}
