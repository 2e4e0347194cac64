"""The script of a job of Slurm: it runs tasks one after the other, and records their begins and ends.

The status of the job is 0 if anything has been recorded, for Slurm's `COMPLETED`; else it is 1, for `FAILED`.

It needs a POSIX shell and coreutils on the node, and no Python. It must not use anything of batprotocol.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from typing import Final

from batprotocol.campaigns.managers.interface import DIRECTORY, NODES, Request

__all__ = ["plan_of", "script_of"]

KILL_SECONDS: Final = 5
"""How long a command has to end after SIGTERM, when its walltime is over."""

_SCRIPT: Final = r"""#!/bin/sh
# Runs tasks of campaigns. A task begins only if its claim, a folder, can be made; so it begins once.
lead() {
    failed=$1
    batch=%(batch)s output=%(output)s resources=%(resources)d whole=%(whole)s
    element=${SLURM_ARRAY_TASK_ID:-0} node=${SLURMD_NODENAME:-$(hostname)}
    log=$batch/log.$element nodes=$batch/nodes.$element
    number= task= signalled= stopped= over=
    cd "$batch" 2>/dev/null || exit 1 # the node has no such folder, or nobody wants these tasks any more

    note() { printf '%%s\n' "$*" >>"$log"; }

    now() { date +%%s.%%N; }

    kill_marked() {
        if [ -n "$task" ] && [ -e "claims/$number/kill" ]; then
            kill -KILL -- "-$task" || kill -KILL "$task"
        fi 2>/dev/null
    }

    # SIGTERM: Slurm ends the job. The task may end well until SIGKILL comes.
    trap 'signalled=1 stopped=1; [ -z "$task" ] || kill -TERM "$task" 2>/dev/null' TERM
    # SIGUSR1: one of the tasks is to be killed.
    trap 'signalled=1; kill_marked' USR1

    task() {
        number=$1 seconds=$2 command=$3
        shift 3
        [ -z "$stopped" ] || return 0
        mkdir "claims/$number" 2>/dev/null || return 0
        out=$output/$number.stdout errors=$output/$number.stderr
        note "begin $number ${over:-$(now)} $node"
        if [ "$failed" != 0 ]; then
            cp "prologue.$element" "$errors"
            note "end $number $(now) $failed"
            return 0
        fi
        if ! [ -d "$directory" ]; then
            note "end $number $(now) directory"
            return 0
        fi
        (
            trap - TERM USR1
            cd "$directory" || exit 126
            [ "$#" = 0 ] || export "$@"
            exec timeout -k %(grace)d "$seconds" $CIGRI_RUN_IN sh -c "$command"
        ) </dev/null >"$out" 2>"$errors" &
        task=$!
        [ -z "$stopped" ] || kill -TERM "$task" 2>/dev/null
        kill_marked
        wait "$task"
        status=$?
        stray=
        while [ -n "$signalled" ]; do
            signalled= stray=138 # SIGUSR1 may reach a task that is only being started
            wait "$task"
            again=$?
            [ "$again" = 127 ] || status=$again
        done
        over=$(now)
        # Slurm may be ending all processes of the job: its signal may come here last
        [ "$status" = 0 ] || [ -n "$stopped" ] || sleep 1
        kill -KILL -- "-$task" 2>/dev/null # what it has left running
        task=
        if [ -s "$out" ]; then
            [ -s "$errors" ] || rm -f "$errors"
        elif [ -s "$errors" ]; then
            rm -f "$out"
        else
            rm -f "$out" "$errors"
        fi
        word=end
        if [ "$status" != 0 ] && [ -e "claims/$number/kill" ]; then
            status=killed
        elif [ "$status" != 0 ] && [ -n "$stopped" ] || [ "$status" = "$stray" ]; then
            word=cut
        fi
        note "$word $number $over $status"
    }

    # A line for each resource, with the name of its node.
    write_nodes() {
        if [ "$resources" = 1 ]; then
            echo "$node"
            return
        fi
        hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" || echo "$node")
        counts=
        for each in $(echo "${SLURM_TASKS_PER_NODE:-$resources}" | tr , ' '); do
            times=1
            case $each in *x*) times=${each#*x} times=${times%%')'} ;; esac
            while [ "$times" -gt 0 ]; do
                counts="$counts ${each%%%%'('*}"
                times=$((times - 1))
            done
        done
        set -- $counts
        for host in $hosts; do
            count=${1:-1}
            [ -z "$whole" ] || count=1
            while [ "$count" -gt 0 ]; do
                echo "$host"
                count=$((count - 1))
            done
            shift
        done
    }

    write_nodes >"$nodes"
    . "./plan.$element"
    [ -s "$log" ] || exit 1
    exit 0
}

CIGRI_RUN_IN=
"""

_PROLOGUE: Final = r"""
# The prologue of the user. If it fails, each task ends with its status and its output.
fail() {
    trap - EXIT
    lead "$1"
}
trap 'failed=$?; [ "$failed" != 0 ] || failed=1; fail "$failed"' EXIT
. %(prologue)s >%(batch)s/prologue.$SLURM_ARRAY_TASK_ID 2>&1 </dev/null || fail $?
trap - EXIT
"""


def script_of(batch: str, output: str, resources: int, *, whole_nodes: bool, prologue: str) -> str:
    """The script of the jobs of a batch.

    Args:
        batch: the folder of the batch.
        output: the folder for the output of tasks.
        resources: how many resources each job has.
        whole_nodes: whether a resource is a node.
        prologue: the file with the user's lines for the shell, or "".
    """
    values = {
        "batch": shlex.quote(batch),
        "output": shlex.quote(output),
        "resources": resources,
        "whole": "yes" if whole_nodes else "",
        "grace": KILL_SECONDS,
        "prologue": shlex.quote(prologue),
    }
    before = f"[ -d {values['batch']} ] || exit 1\n{_PROLOGUE % values}" if prologue else ""
    return f"{_SCRIPT % values}{before}lead 0\n"


def plan_of(requests: Iterable[Request]) -> str:
    """The plan of a job, which the script reads: the directory, and a line for each task.

    A shell reads all texts in it as they are, except for `~` and `$HOME` in the directory.
    """
    found = list(requests)
    return "".join([f"directory={_directory(found[0].directory)}\n", *map(_line, found)])


def _line(request: Request) -> str:
    variables = [f"{shlex.quote(f'{name}=')}{_value(value)}" for name, value in request.environment.items()]
    seconds = max(1, math.ceil(request.walltime))  # some systems take whole seconds only
    return f"task {' '.join([str(request.job), str(seconds), shlex.quote(request.command), *variables])}\n"


def _value(value: str) -> str:
    return {DIRECTORY: '"$directory"', NODES: '"$nodes"'}.get(value) or shlex.quote(value)


def _directory(directory: str) -> str:
    if directory == "~" or directory.startswith("~/"):
        directory = f"$HOME{directory[1:]}"
    before, home, after = directory.partition("$HOME")
    return f'{shlex.quote(before) if before else ""}"$HOME"{shlex.quote(after)}' if home else shlex.quote(directory)
