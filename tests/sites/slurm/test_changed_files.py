"""Changed lines and bytes of a site's files: values, or an InputError with its file and line; nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support import DATA

from batprotocol.errors import InputError
from batprotocol.policies.slurm.priorities import JobFacts, MultifactorPriorities
from batprotocol.sites.slurm.accounting import Accounting, read_accounting
from batprotocol.sites.slurm.configuration import SlurmConfiguration, configuration_of, read_configuration

WITHOUT_ENGINE = True

CONF = """ClusterName=c # a comment
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory,CR_LLN
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightTRES=CPU=1000,Mem=2G,GRES/gpu=3
PriorityMaxAge=1-12
PriorityFlags=NO_FAIR_TREE,MAX_TRES
SchedulerParameters=bf_interval=60,bf_continue,bf_max_job_user=3,defer,bf_busy_nodes
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
Licenses=foo:4,bar
AccountingStorageEnforce=associations,limits
NodeName=DEFAULT CPUs=4 RealMemory=8000 \\
   Feature=cpu
NodeName=n[0-15] Sockets=2 CoresPerSocket=8 Gres=gpu:a100:4,fpga Feature=a,b Weight=3
NodeName=m[00-09]-ib,login Boards=2 SocketsPerBoard=2 State=UNKNOWN Reason="is being repaired"
NodeSet=s Feature=a Nodes=login
DownNodes=n[3-4] State=DRAIN
PartitionName=DEFAULT MaxTime=1-0 State=UP
PartitionName=p Nodes=s,n[1,3-5] Default=YES OverSubscribe=FORCE:2 TRESBillingWeights="CPU=1,Mem=0.5G"
PartitionName=q Nodes=ALL AllowAccounts=a,b DenyQos=z GraceTime=30 PreemptMode=REQUEUE PriorityTier=10
TopologyPlugin=topology/tree
include more.conf
"""
TOPOLOGY = "SwitchName=a Nodes=n[0-15]\nSwitchName=b Nodes=m[00-09]-ib,login\nSwitchName=top Switches=a,b\n"
DUMP = (DATA / "slurm_conf" / "sacctmgr_dump.cfg").read_text()
QOS = (DATA / "slurm_conf" / "sacctmgr_qos.txt").read_text()

PLACE = re.compile(r":[0-9]+: |: expected at most ")
FILES = {"slurm.conf": CONF, "topology.conf": TOPOLOGY, "more.conf": "KillWait=3\nOverTimeLimit=1\n"}
SACCT = {"dump.cfg": DUMP, "qos.txt": QOS}


def configuration(folder: Path) -> SlurmConfiguration:
    return read_configuration(folder / "slurm.conf")


def accounting(folder: Path) -> Accounting:
    return read_accounting(folder / "dump.cfg", folder / "qos.txt")


def is_read(folder: Path, read: Callable[[Path], Any]) -> bool:
    """Whether files are read; otherwise, the error has a file of the folder and a line."""
    reason, found = "", None
    try:
        found = read(folder)
    except InputError as error:
        reason = str(error)
    if found is None:
        assert reason.startswith(str(folder)), reason
        assert PLACE.search(reason), reason
        assert "\n" not in reason
        return False
    used(found)
    return True


def used(found: SlurmConfiguration | Accounting) -> None:
    """Values that are read can be used for priorities."""
    conf = found if isinstance(found, SlurmConfiguration) else SlurmConfiguration()
    accounts = found if isinstance(found, Accounting) else None
    priorities = MultifactorPriorities(conf, accounts)
    names = tuple(each.name for each in conf.partitions)[:2]
    priorities.submitted(JobFacts(number=1, user="u1", partitions=names, tres={"cpu": 1.0}), 0.0)
    for now in (0.0, 1e5):
        priorities.renew(now)
    assert all(1 <= each <= 2**32 - 1 for each in priorities.priorities(1).values())


def changed(draw: Random, data: bytes) -> bytes:
    """A file with some bytes, words or lines changed, removed or doubled."""
    if draw.random() < 0.5:
        found = bytearray(data)
        for _ in range(draw.randrange(1, 6)):
            found[draw.randrange(len(found))] = draw.choice((draw.randrange(256), draw.choice(b"=,[]-:'\"\\#0 9\n")))
        return bytes(found)
    lines = data.split(b"\n")
    place, other = draw.randrange(len(lines)), draw.choice(lines)
    words = lines[place].split(b" ")
    words[draw.randrange(len(words))] = draw.choice(other.split(b" "))
    lines[place : place + draw.randrange(2)] = [b" ".join(words)] * draw.randrange(3)
    return b"\n".join(lines)


@pytest.mark.parametrize("texts", [FILES, SACCT], ids=["configuration", "accounting"])
@pytest.mark.parametrize("changes", [60, pytest.param(10_000, marks=pytest.mark.minutes)])
def test_changed_files(tmp_path: Path, texts: dict[str, str], changes: int) -> None:
    read = configuration if texts is FILES else accounting
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert is_read(tmp_path, read)
    draw, found = Random(changes), []
    for _ in range(changes):
        name = draw.choice([*texts, next(iter(texts))])
        (tmp_path / name).write_bytes(changed(draw, texts[name].encode()))
        found.append(is_read(tmp_path, read))
        (tmp_path / name).write_text(texts[name])
    assert 0 < sum(found) < len(found)


@pytest.mark.parametrize("changes", [30, pytest.param(10_000, marks=pytest.mark.minutes)])
def test_random_bytes(tmp_path: Path, changes: int) -> None:
    draw = Random(changes)
    (tmp_path / "qos.txt").write_text(QOS)
    for _ in range(changes):
        data = draw.randbytes(draw.randrange(200))
        (tmp_path / "slurm.conf").write_bytes(data)
        (tmp_path / "dump.cfg").write_bytes(data)
        is_read(tmp_path, configuration)
        is_read(tmp_path, accounting)


def test_a_large_site_is_read_at_once(tmp_path: Path) -> None:
    lines = [f"NodeName=r{rack}n[0-999] CPUs=64" for rack in range(5)]
    lines += [f"PartitionName=p{number} Nodes=r[0-4]n[0-999]" for number in range(5)]
    (tmp_path / "slurm.conf").write_text("\n".join(lines))
    found = configuration(tmp_path)
    assert (len(found.nodes), len(found.partitions[4].nodes)) == (5000, 5000)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("\n".join(f"{number}x{number * 7}=1" for number in range(101)), ":101: expected parameters of Slurm 22.05"),
        (
            f"SchedulerParameters={','.join(f'{number}x{number * 7}' for number in range(101))}",
            ":1: SchedulerParameters: expected options of Slurm 22.05, got more than 100 others",
        ),
        pytest.param(
            "DownNodes=a\n" * 200_001, ":200001: expected at most 200,000 lines of nodes", marks=pytest.mark.minutes
        ),
        ("\\\n" * 20_000, ""),
    ],
    ids=["parameters", "options", "records", "joined"],
)
def test_large_files_are_bounded(text: str, error: str) -> None:
    if not error:
        assert configuration_of(text) == SlurmConfiguration()
        return
    with pytest.raises(InputError, match=error):
        configuration_of(text)
