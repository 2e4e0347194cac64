"""Each option, command and key in the manual of Slurm 22.05 is followed, without effect in a simulation, or named.

The names are those of sbatch(1), scontrol(1) and scancel(1) of Debian's 22.05.8, in `tests/data/slurm_manual.json`.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from logging.handlers import BufferingHandler

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import DATA

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.policies.slurm.commands import COMMANDS
from batprotocol.simulator import ExternalEventList, StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.configuration import configuration_of
from batprotocol.sites.slurm.parameters import RECORDS, ParameterStanding
from batprotocol.studies.recorded import SBATCH, unfollowed_of

WITHOUT_ENGINE = True

MANUAL: dict[str, list[str]] = {
    kind: names.split() for kind, names in json.loads((DATA / "slurm_manual.json").read_text()).items()
}
CONF = """
NodeName=n[0-3] CPUs=2 RealMemory=100
PartitionName=p Nodes=n[0-2] Default=YES
PartitionName=q Nodes=ALL
"""
VALUES = {
    "job": {
        "Account": "a",
        "ArrayTaskThrottle": "1",
        "Contiguous": "yes",
        "Dependency": "afterany:0",
        "JobId": "1",
        "EligibleTime": "now",
        "ExcNodeList": "n0",
        "Nice": "5",
        "NodeList": "n1",
        "NumNodes": "1",
        "Partition": "q",
        "Priority": "7",
        "QOS": "normal",
        "ReqNodeList": "n1",
        "ReqNodes": "1-2",
        "Requeue": "0",
        "TimeMin": "1",
        "ReservationName": "",
        "StartTime": "now+9",
        "TimeLimit": "+2",
    },
    "node": {"NodeName": "n1", "State": "DRAIN"},
    "partition": {
        "AllowAccounts": "a",
        "AllowGroups": "g",
        "AllowQOS": "normal",
        "Default": "YES",
        "DefaultTime": "5",
        "DefMemPerCPU": "1",
        "DefMemPerNode": "2",
        "DenyAccounts": "b",
        "DenyQOS": "x",
        "GraceTime": "3",
        "LLN": "YES",
        "MaxMemPerCPU": "500",
        "MaxMemPerNode": "900",
        "MaxNodes": "2",
        "MaxTime": "60",
        "MinNodes": "1",
        "Nodes": "n[0-1]",
        "OverTimeLimit": "1",
        "QOS": "normal",
        "PartitionName": "p",
        "PreemptMode": "OFF",
        "PriorityTier": "3",
        "ReqResv": "NO",
        "RootOnly": "NO",
        "State": "UP",
    },
    "reservation": {
        "Accounts": "a",
        "Duration": "1",
        "EndTime": "now+600",
        "Flags": "MAINT",
        "Licenses": "",
        "NodeCnt": "1",
        "Nodes": "n3",
        "PartitionName": "p",
        "Reservation": "r",
        "ReservationName": "r",
        "StartTime": "now+60",
        "Users": "ann",
    },
}
"""A value of each key that is followed."""


def told(*commands: str) -> list[str]:
    """The notes and errors about commands that come while a job runs and another one waits."""
    jobs = [StaticJob(str(number), 1.0 + number, 3, DelayProfile(30.0), 600.0) for number in range(2)]
    events = [ExternalEventList.of([(5.0, json.dumps({"slurm": text})) for text in commands], corrected=True)]
    handler = BufferingHandler(10_000)
    logger = logging.getLogger("batprotocol.policies")
    logger.addHandler(handler)
    try:
        simulate(
            described_platform("n[0-3] cores=2"),
            Workload(jobs),
            SlurmScheduler(configuration_of(CONF)),
            external_events=events,
        )
    finally:
        logger.removeHandler(handler)
    return [text for record in handler.buffer if "external event" in (text := record.getMessage())]


def command_with(kind: str, key: str, value: str) -> str:
    """A command in which a key has a value."""
    names = {"job": "JobId=1", "node": "NodeName=n1", "partition": "PartitionName=p"}
    first = names.get(kind, "ReservationName=r")
    if first.startswith(f"{key}=") or (kind == "reservation" and key == "Reservation"):
        first = ""
    verb = "create" if kind == "reservation" else "update"
    more = "Nodes=n2 StartTime=now+60 Duration=1 Users=bob" if kind == "reservation" else ""
    rest = " ".join(word for word in more.split() if word.partition("=")[0] != key)
    return f"scontrol {verb} {first} {key}={value} {rest}"


@pytest.mark.parametrize("kind", [kind for kind in MANUAL if kind != "sbatch"])
def test_each_name_in_the_manual_has_a_standing(kind: str) -> None:
    assert not {name.lower() for name in MANUAL[kind]} - {*COMMANDS[kind]}


def test_each_option_of_sbatch_in_the_manual_has_a_standing() -> None:
    assert {*MANUAL["sbatch"]} <= {*SBATCH}


@pytest.mark.parametrize("kind", VALUES)
def test_keys_of_updates_are_followed_without_effect_or_named(kind: str) -> None:
    keys = [COMMANDS[kind].get(name.lower(), (name,))[0] for name in MANUAL[kind]]
    commands = {key: command_with(kind, key, VALUES[kind].get(key, "1")) for key in keys}
    for key, command in commands.items():
        standing = COMMANDS[kind][key.lower()][1]
        assert (standing is ParameterStanding.FOLLOWED) == (key in VALUES[kind]), key
        notes = " ".join(told(command))
        assert (f"'{key}=" in notes and "is not followed" in notes) == (standing is ParameterStanding.MISSED), command
        if standing is not ParameterStanding.MISSED and key not in ("NodeCnt", "Reservation"):
            assert not notes or key == "Licenses", command


def test_keys_of_partitions_that_are_followed_are_those_of_slurm_conf() -> None:
    for key, (name, standing) in COMMANDS["partition"].items():
        row = RECORDS["partitionname"].get(key)
        if standing is ParameterStanding.FOLLOWED:
            assert row is not None, name
            assert row.standing is ParameterStanding.FOLLOWED, name


@pytest.mark.parametrize("name", MANUAL["scontrol"])
def test_commands_are_followed_without_effect_or_named(name: str) -> None:
    words = {"create": "ReservationName=r Nodes=n3 StartTime=now+60 Duration=1 Users=u", "update": "JobId=1 Nice=3"}
    words |= {"delete": "ReservationName=r"}
    notes = " ".join(told(f"scontrol {name} {words.get(name, '1')}"))
    standing = COMMANDS["scontrol"][name][1]
    assert (f"'scontrol {name}' is not followed" in notes) == (standing is ParameterStanding.MISSED)
    assert standing is not ParameterStanding.IDLE or not notes


@pytest.mark.parametrize("name", MANUAL["options of scancel"])
def test_options_of_scancel_are_followed_without_effect_or_named(name: str) -> None:
    value = {"signal": "KILL", "state": "PENDING", "nodelist": "n0"}.get(name, "p")
    alone = {"batch", "ctld", "full", "help", "hurry", "interactive", "me", "quiet", "usage", "verbose", "version"}
    notes = " ".join(told(f"scancel --{name}{'' if name in alone else f'={value}'} 1"))
    assert ("not followed" in notes) == (COMMANDS["options of scancel"][name][1] is ParameterStanding.MISSED)


@pytest.mark.parametrize("name", MANUAL["flag of reservations"])
def test_flags_of_reservations_are_followed_or_named(name: str) -> None:
    words = f"ReservationName=r Nodes=n3 StartTime=now+60 Duration=1 Users=u Flags={name}"
    notes = " ".join(told(f"scontrol create {words}"))
    standing = COMMANDS["flag of reservations"][name.lower()][1]
    assert (f"'{name}' is not followed" in notes) == (standing is ParameterStanding.MISSED)


OTHERS = st.from_regex(re.compile(r"\A[A-Za-z]{3,12}\Z"))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(VALUES)), OTHERS)
def test_what_nobody_knows_is_named(kind: str, key: str) -> None:
    names = {full for full, _ in COMMANDS[kind].values()}
    if any(name.lower().startswith(key.lower()) for name in names):
        return
    notes = told(command_with(kind, key, "1"))
    assert any(f"'{key}=1' is not known" in note for note in notes)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("scontrol frobnicate 1", "'scontrol frobnicate' is not known"),
        ("scontrol suspend 12", "no job '12' waits or runs"),
        ("scontrol suspend 1", "job 1 does not run, so that 'suspend' has no effect"),
        ("scontrol resume 0", "job 0 is not suspended, so that 'resume' has no effect"),
        ("scontrol hold 12", "no job '12' waits or runs"),
        ("scontrol update JobId=12 Nice=1", "no job '12' waits or runs"),
        ("scontrol update JobId=0 NumNodes=1", "job 0 does not wait any more, and keeps what it has of numnodes"),
        ("scontrol update JobId=1 StartTime=2027-01-01", "the time '2027-01-01' is not followed"),
        ("scontrol update NodeName=n1 State=POWER_DOWN", "the state 'POWER_DOWN' of nodes is not followed"),
        ("scontrol update FrontendName=f State=DOWN", "'scontrol update' of a front end is not followed"),
        ("scontrol update StepId=1.0 TimeLimit=3", "'scontrol update' of a step is not followed"),
        ("scontrol create PartitionName=r Nodes=n0", "'scontrol create' of a partition is not followed"),
        ("scontrol delete PartitionName=p", "'scontrol delete' of a partition is not followed"),
        ("scontrol delete ReservationName=x", "there is no reservation 'x'"),
        ("scontrol update ReservationName=x Users=u", "there is no reservation of nodes 'x'"),
        ("scontrol update PartitionName=p PreemptMode=SUSPEND", "PreemptMode=SUSPEND is not followed"),
        ("scontrol update PartitionName=p OverSubscribe=YES:2", "'OverSubscribe=YES:2' is not followed"),
        ("scontrol update PartitionName=x State=UP", "there is no partition 'x'"),
        ("scontrol create ReservationName=r NodeCnt=9 StartTime=now Duration=1 Users=u", "for a reservation of 9"),
        ("scontrol create ReservationName=r Nodes=n0 StartTime=12:00 Duration=1 Users=u", "r is not made"),
        ("scontrol create Nodes=n0 StartTime=now Duration=1 Users=u", "expected a key such as JobId="),
        ("scontrol top 0", "job 0 does not wait any more, and is not moved"),
        ("scontrol -M other hold 1", "so that the command has no effect"),
        ("scancel -s TERM 0", "the signal 'TERM' is not followed"),
        ("scancel -n name", "so that the command has no effect"),
        ("scancel", "expected the ids of jobs behind scancel"),
        ("squeue", "expected scontrol or scancel, got 'squeue'"),
    ],
)
def test_what_has_no_effect_is_said(command: str, why: str) -> None:
    assert any(why in note for note in told(command)), told(command)


@pytest.mark.parametrize(
    "command", ["scontrol update jobid=1 timel=3", "scontrol update JOBID=1 NICE", "scontrol -o show job", "scancel 1"]
)
def test_names_are_read_in_any_letters_and_may_be_short(command: str) -> None:
    assert not any("known" in note or "followed" in note for note in told(command))


def described(options: Sequence[str]) -> tuple[str, ...]:
    return unfollowed_of({"submissions": [{"id": 1, "args": list(options)}]})


@pytest.mark.parametrize("name", MANUAL["sbatch"])
def test_options_of_sbatch_are_followed_without_effect_or_named(name: str) -> None:
    value = {"exclusive": "", "nice": "3", "threads-per-core": "2"}.get(name, "1")
    found = described([f"--{name}={value}"])
    assert found == ((f"--{name} (1 job)",) if SBATCH[name] is ParameterStanding.MISSED else ())


@given(OTHERS)
def test_an_option_of_sbatch_that_nobody_knows_is_refused(name: str) -> None:
    if name not in SBATCH:
        with pytest.raises(InputError, match=f"the option --{name} of sbatch is not known"):
            described([f"--{name}=1"])


SHARED = "SelectType=select/cons_tres"
PREEMPTS = "PreemptType=preempt/partition_prio"


@pytest.mark.parametrize(
    ("lines", "partition", "named"),
    [
        (f"{PREEMPTS}\nPreemptMode=SUSPEND,GANG", "", []),
        (f"{PREEMPTS}\nPreemptMode=REQUEUE,GANG", "PreemptMode=SUSPEND OverSubscribe=FORCE:2", []),
        (f"{PREEMPTS}\nPreemptMode=REQUEUE", "PreemptMode=SUSPEND", ["PreemptMode=SUSPEND"]),
        (f"{PREEMPTS}\nPreemptMode=REQUEUE", "PreemptMode=GANG", ["PreemptMode=GANG"]),
        (f"{PREEMPTS}\nPreemptMode=REQUEUE", "PreemptMode=WITHIN", ["PreemptMode"]),
        (f"{PREEMPTS}\nPreemptMode=REQUEUE", "PreemptMode=CANCEL", []),
        (SHARED, "OverSubscribe=YES:2", []),
        ("", "OverSubscribe=YES:2", ["OverSubscribe=YES"]),
        (SHARED, "OverSubscribe=FORCE:2", []),
        (SHARED, "OverSubscribe=EXCLUSIVE", []),
        ("", "OverSubscribe=FORCE:2", ["OverSubscribe=FORCE"]),
        ("", "OverSubscribe=FORCE:1", []),
        ("TopologyPlugin=topology/3d_torus", "", ["TopologyPlugin=3D_TORUS"]),
        ("TopologyPlugin=topology/hypercube", "", ["TopologyPlugin=HYPERCUBE"]),
        ("TopologyParam=Dragonfly", "", ["TopologyParam/Dragonfly"]),
        ("", "Foo=1", ["Foo"]),
    ],
)
def test_values_of_slurm_conf_that_are_not_followed_are_named(lines: str, partition: str, named: list[str]) -> None:
    conf = f"{lines}\nNodeName=n[0-3] CPUs=4\nPartitionName=p Nodes=ALL Default=YES {partition}\n"
    assert [each.name for each in configuration_of(conf).not_followed] == named
