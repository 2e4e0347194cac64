"""Recorded runs of a real Slurm, once more under the policy `slurm`: the same jobs start when and where they did.

The oracle is the recording. `PYTHONPATH=tests python tests/policies/slurm/test_replays.py` prints the
shares of all recordings by kind.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from slurm_recordings import recording, recordings
from support import DATA

from batprotocol.model import DelayProfile
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.policies.slurm.scheduler import Started
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.configuration import configuration_of, switches_of
from batprotocol.studies.recorded import judged, replayed

WITHOUT_ENGINE = True

SOME = sorted((DATA / "slurm" / "replays").glob("*.json.xz"))

FLOORS = {
    "a_builtin": (0.95, 0.99, 0.95),
    "b_backfill": (0.97, 0.99, 0.97),
    "c_multifactor": (0.98, 0.99, 0.98),
    "cf_fair": (0.93, 0.97, 0.97),
    "e_depend": (0.95, 0.99, 0.97),
    "g_failures": (0.96, 0.98, 0.9),
}
"""For each kind of run, the shares of starts within 3 s, of pairs in order, and of starts on the same nodes."""


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.name[:-8])
def test_a_recorded_run_is_repeated(path: Path) -> None:
    run = recording(path)
    verdict = judged(run, replayed(run))
    assert verdict.near >= 0.9 * verdict.starts, verdict.misses
    assert verdict.ordered >= verdict.pairs - 1, verdict.misses
    assert verdict.placed >= 0.97 * verdict.starts, verdict.misses


def shares(kind: str) -> tuple[float, float, float]:
    """The shares of starts that are near, of pairs in order, and of starts on the same nodes, in all runs of a kind."""
    sums: Counter[str] = Counter()
    for path in recordings(kind):
        run = recording(path)
        verdict = judged(run, replayed(run))
        sums.update(verdict._asdict() | {"misses": 0})
    starts = sums["starts"] or 1
    return sums["near"] / starts, sums["ordered"] / (sums["pairs"] or 1), sums["placed"] / starts


@pytest.mark.minutes
@pytest.mark.parametrize("kind", FLOORS)
def test_recorded_runs_are_repeated(kind: str) -> None:
    """All that are beside the repository; none without it."""
    if recordings(kind):
        assert all(share >= floor for share, floor in zip(shares(kind), FLOORS[kind], strict=True))


@pytest.mark.parametrize("name", ["operators_01", "operators_02"])
@pytest.mark.parametrize(
    "line",
    [
        "scontrol: error: DefMemPerCPU ignored, since it's mutually exclusive with DefMemPerNode",
        "scontrol: error: NodeNames=n0 Sockets=# and SocketsPerBoard=# is invalid , using SocketsPerBoard",
        "scancel: error: Both AllowQos and DenyQos are defined, DenyQos will be ignored",
    ],
)
def test_what_a_command_says_about_slurm_conf_is_no_failure(name: str, line: str) -> None:
    run = recording(DATA / "slurm" / "replays" / f"{name}.json.xz")
    events = [each | {"out": f"{line}\n{line}\n{each['out']}".rstrip()} for each in run["events"]]
    assert events
    assert replayed(run | {"events": events}) == replayed(run)


CONF = """
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightJobSize=500
PriorityWeightPartition=300
AccountingStorageType=accounting_storage/slurmdbd
SchedulerParameters=bf_interval=20
NodeName=n[0-7] CPUs={cpus}
PartitionName=all Nodes=ALL Default=YES
PartitionName=fast Nodes=n[2-5] PriorityTier=2 PriorityJobFactor=5
{more}
"""


def starts(seed: int, conf: str, *, is_quick: bool) -> list[Started]:
    """The starts of a random workload. On a tree of switches, some jobs want few of these, or a certain node."""
    draw, has_tree = random.Random(seed), "tree" in conf
    jobs = []
    for number in range(draw.randint(1, 25)):
        runs = float(draw.randint(1, 300))
        data: dict[str, object] = {"user": f"u{draw.randint(0, 2)}"}
        size = draw.choice([1, 1, 2, 3, 4, 6])
        if draw.random() < 0.3 and size <= 4:
            data["partition"] = draw.choice(["fast", "all,fast"])
        if draw.random() < 0.2 and number:
            data["dependency"] = f"afterany:{draw.randrange(number)}"
        if draw.random() < 0.2:
            data["begin"] = f"now+{draw.randint(1, 200)}"
        if draw.random() < 0.3:
            data |= {"tasks": size * draw.randint(1, 2)}
        at = float(draw.randint(0, 600))
        limit = runs * draw.uniform(0.7, 3)
        if has_tree and draw.random() < 0.5:
            count = f"{draw.randint(1, 2)}@0:{draw.randint(10, 59)}"
            data["slurm"] = draw.choice([{"switches": count}, {"nodelist": f"n{draw.randint(0, 7)}"}])
        jobs.append(StaticJob(str(number), at, size, DelayProfile(runs), walltime=limit, extra_data=json.dumps(data)))
    site = replace(configuration_of(conf), switches=switches_of(TREE) if has_tree else ())
    scheduler = SlurmScheduler(site, is_quick=is_quick)
    simulate(described_platform("n[0-7] cores=2"), Workload(jobs), scheduler)
    return scheduler.starts


PREEMPTS = "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE"
TREE = "SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-7]\nSwitchName=top Switches=a,b"
KINDS = (
    (1, ""),
    (2, "SelectType=select/cons_tres"),
    (1, PREEMPTS),
    (1, f"{PREEMPTS}\nPreemptExemptTime=0:0:40"),
    (1, "TopologyPlugin=topology/tree"),
    (2, "TopologyPlugin=topology/tree\nSelectType=select/cons_tres"),
    (2, "SelectType=select/cons_tres\nPartitionName=few Nodes=n[0-2] OverSubscribe=FORCE:2"),
)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(KINDS))
@example(56, KINDS[2])  # a job gives way that is over by itself
@example(84, KINDS[1])  # plans change with the time alone, so that another run of backfill starts a job
@example(146, KINDS[0])  # a job asks for more CPUs than its nodes have
@example(30, KINDS[4])  # a job waits for few switches from a look on that could only plan it
@example(6, KINDS[5])  # a plan differs in the second run of backfill from now, and not in the next one
@example(8, KINDS[5])  # a job can never start, and another one waits for its end
def test_short_cuts_change_no_decision(seed: int, kind: tuple[int, str]) -> None:
    conf = CONF.format(cpus=kind[0], more=kind[1])
    assert starts(seed, conf, is_quick=True) == starts(seed, conf, is_quick=False)


@pytest.mark.minutes
@settings(max_examples=1_000, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(KINDS))
def test_short_cuts_change_no_decision_of_many(seed: int, kind: tuple[int, str]) -> None:
    conf = CONF.format(cpus=kind[0], more=kind[1])
    assert starts(seed, conf, is_quick=True) == starts(seed, conf, is_quick=False)


if __name__ == "__main__":
    for kind in sorted({path.parent.name for path in recordings()}):
        print(kind, *(f"{share:.1%}" for share in shares(kind)))
