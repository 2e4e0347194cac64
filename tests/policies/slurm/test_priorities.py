"""The priorities of Slurm: rows of a real one, each flag and weight, and what holds for all jobs."""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slurm_priorities import compared, moments_that_fit, was_requeued
from slurm_recordings import random_runs, recording, recordings
from support import DATA

from batprotocol.model import DelayProfile
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.policies.slurm.cluster import cluster_of
from batprotocol.policies.slurm.priorities import (
    FirstComeNumbers,
    JobFacts,
    MultifactorOrder,
    MultifactorPriorities,
    Parts,
)
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.accounting import Accounting, SlurmAssociation, SlurmQos
from batprotocol.sites.slurm.configuration import SlurmConfiguration, configuration_of

WITHOUT_ENGINE = True

KEPT = json.loads(lzma.decompress((DATA / "policies" / "slurm_priorities.json.xz").read_bytes()))
RECORDED = recordings("c_multifactor", "cf_fair")
needs_runs = pytest.mark.skipif(not RECORDED, reason="needs the recorded runs of Slurm in ../shared/slurm")


@pytest.mark.parametrize("name", KEPT)
def test_rows_of_sprio_and_sshare_are_equal(name: str) -> None:
    found = compared(KEPT[name])
    assert found.wrong == []
    assert found.sprio > 100
    assert found.sshare > 300 or not KEPT[name]["dbd"]


@pytest.mark.parametrize(("kind", "seed"), [("fair", 2), ("multifactor", 8)])
def test_rows_of_a_random_run_are_equal(kind: str, seed: int) -> None:
    run = next(run for run in random_runs(kind) if run["seed"] == seed)
    found = compared(run, (-5.0, 55.0, {}))
    assert found.wrong == []
    assert found.sprio > 80


SHARES = {"fair": 1.0, "classic": 0.92, "multifactor": 1.0, "limits": 0.98, "qospreempt": 0.97, "changes": 0.92}
"""For each kind of random runs, the least share of rows that are equal."""


@pytest.mark.minutes
@pytest.mark.parametrize("kind", SHARES)
def test_rows_of_random_runs_are_equal(kind: str) -> None:
    rows = wrong = 0
    for run in random_runs(kind):
        if not was_requeued(run):
            found = compared(run, moments_that_fit(run))
            rows += found.sprio + found.sshare + found.first
            wrong += len(found.wrong)
    assert rows - wrong >= SHARES[kind] * rows


@needs_runs
def test_all_rows_of_all_recordings_are_equal() -> None:
    found = [compared(recording(path)) for path in RECORDED if recording(path)["seed"] in (0, 1, 4, 5)]
    assert [row for each in found for row in each.wrong] == []
    assert sum(each.sprio for each in found) >= 2848
    assert sum(each.sshare for each in found) >= 1520
    assert sum(each.first for each in found) >= 301


def test_basic_numbers_are_those_of_a_recording() -> None:
    """The priorities that a real Slurm gave to jobs with these values of nice, one of them held and released later."""
    numbers = FirstComeNumbers()
    given = [numbers.take(nice) for nice in (0, 0, 100, -100, 50)]
    assert given == [4294901759, 4294901758, 4294901657, 4294901856, 4294901705]
    assert [numbers.take(), numbers.take(), numbers.take()] == [4294901754, 4294901753, 4294901752]


SITE = """
PriorityType=priority/multifactor
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits
PriorityMaxAge=0-0:10:00
PriorityCalcPeriod=1
GresTypes=gpu
NodeName=n[0-7] CPUs=4 RealMemory=1000 Gres=gpu:a:2
PartitionName=p Nodes=ALL MaxTime=2:00:00 PriorityJobFactor=10
PartitionName=q Nodes=n[0-3] PriorityJobFactor=40
"""
ACCOUNTS = Accounting(
    associations=(
        SlurmAssociation(account="root"),
        SlurmAssociation(account="a", parent="root", priority=30),
        SlurmAssociation(account="a", user="u", priority=20, default_qos="low"),
        SlurmAssociation(account="a", user="v", priority=5),
        SlurmAssociation(account="a", user="w"),
    ),
    qos={name: SlurmQos(name=name, priority=priority) for name, priority in (("low", 10), ("high", 100))},
    default_accounts={"u": "a", "v": "a", "w": "a"},
)


def priorities_of(*lines: str) -> MultifactorPriorities:
    """Priorities on a site with these parameters."""
    return MultifactorPriorities(configuration_of("\n".join([SITE, *lines])), ACCOUNTS, since=-60.0)


def job(number: int = 1, **facts: Any) -> JobFacts:
    return JobFacts(**{"number": number, "user": "u", "partitions": ("p",), "nodes": 2, "cpus": 8, **facts})


@pytest.mark.parametrize(
    ("lines", "facts", "parts"),
    [
        (["PriorityWeightJobSize=1000"], {}, {"size": 250.0}),
        (["PriorityWeightJobSize=1000"], {"cpus": 0}, {"size": 250.0}),
        (["PriorityWeightJobSize=1000"], {"nodes": 1}, {"size": 187.5}),
        (["PriorityWeightJobSize=1000", "PriorityFavorSmall=YES"], {}, {"size": 750.0}),
        (["PriorityWeightJobSize=1000", "PriorityFlags=SMALL_RELATIVE_TO_TIME"], {"minutes": 5.0}, {"size": 50.0}),
        (
            ["PriorityWeightJobSize=1200", "PriorityFlags=SMALL_RELATIVE_TO_TIME"],
            {"nodes": 8, "cpus": 1},
            {"size": 10.0},  # the limit of its partition
        ),
        (["PriorityWeightPartition=1000"], {}, {"partition": 250.0}),
        (["PriorityWeightPartition=1000"], {"partitions": ("q",)}, {"partition": 1000.0}),
        (["PriorityWeightPartition=3", "PriorityFlags=NO_NORMAL_PART"], {}, {"partition": 30.0}),
        (["PriorityWeightQOS=1000"], {}, {"qos": 100.0}),
        (["PriorityWeightQOS=1000"], {"qos": "high"}, {"qos": 1000.0}),
        (["PriorityWeightQOS=1000"], {"user": "v"}, {}),  # its quality of service is `normal`
        (["PriorityWeightQOS=3", "PriorityFlags=NO_NORMAL_QOS"], {"qos": "high"}, {"qos": 300.0}),
        (["PriorityWeightAssoc=300"], {}, {"assoc": 200.0}),
        (["PriorityWeightAssoc=3", "PriorityFlags=NO_NORMAL_ASSOC"], {"user": "v"}, {"assoc": 15.0}),
        (["PriorityWeightAssoc=300"], {"user": "w"}, {"assoc": 300.0}),  # that of its account
        (["PriorityWeightAssoc=300"], {"user": "nobody"}, {}),
        (["PriorityWeightTRES=CPU=320,GRES/gpu=100"], {"tres": {"cpu": 8.0, "gres/gpu": 4.0}}, {"tres": 105.0}),
        (["PriorityWeightTRES=Mem=800"], {"tres": {"mem": 500.0}, "partitions": ("q",)}, {"tres": 100.0}),
        (["PriorityWeightTRES=Mem=800"], {"tres": {"mem": 0.0}}, {"tres": 200.0}),  # all memory of two nodes
        (["PriorityWeightTRES=cpu=2", "PriorityFlags=NO_NORMAL_TRES"], {"tres": {"cpu": 8.0}}, {"tres": 16.0}),
        (
            ["PriorityWeightQOS=2", "PriorityWeightPartition=2", "PriorityFlags=NO_NORMAL_ALL"],
            {"qos": "high"},
            {"qos": 200.0, "partition": 20.0},
        ),
        (["PriorityWeightFairshare=500"], {}, {"fairshare": 500.0}),
        (["PriorityWeightFairshare=500", "PriorityFlags=NO_FAIR_TREE"], {}, {"fairshare": 500.0}),
        (["PriorityWeightFairshare=500"], {"user": "nobody"}, {}),
        ([], {"nice": -7}, {"nice": -7}),
    ],
)
def test_each_part_of_a_priority(lines: list[str], facts: dict[str, Any], parts: dict[str, float]) -> None:
    priorities = priorities_of(*lines)
    priorities.renew(-60.0)
    priorities.submitted(job(**facts), 0.0)
    (found,) = priorities.parts(1).values()
    assert {name: pytest.approx(getattr(found, name)) for name in Parts.__struct_fields__} == {
        name: parts.get(name, 0.0) for name in Parts.__struct_fields__
    }
    assert list(priorities.priorities(1).values()) == [max(int(sum(parts.values()) - 2 * parts.get("nice", 0)), 1)]


def test_the_age_grows_at_calculations_only() -> None:
    priorities = priorities_of("PriorityWeightAge=600")
    priorities.submitted(job(), 3.2)
    priorities.submitted(job(2), 3.2)
    priorities.eligible(1, 10.9)
    assert priorities.next_time() == -60.0
    priorities.renew(-60.0)
    assert priorities.priorities(1) == {"p": 1}
    assert priorities.renew(60.4) == [1]  # 50 seconds: the times are whole seconds
    assert priorities.next_time() == 120.0
    assert priorities.priorities(1) == {"p": 50}
    priorities.renew(2000.0)
    assert (priorities.priorities(1), priorities.priorities(2)) == ({"p": 600}, {"p": 1})


@pytest.mark.parametrize(("shares", "is_tree"), [(None, True), (None, False), (1, True), (1, False)])
def test_an_account_passes_on_what_is_its_own_with_or_without_shares(shares: int | None, is_tree: bool) -> None:
    lines = (
        SlurmAssociation(account="root"),
        SlurmAssociation(account="a", parent="root", priority=10, default_qos="low"),
        SlurmAssociation(account="b", parent="a", shares=shares, priority=40, default_qos="high"),
        SlurmAssociation(account="c", parent="b", shares=shares),
        SlurmAssociation(account="c", user="u"),
        SlurmAssociation(account="a", user="v"),
    )
    accounting = Accounting(associations=lines, qos=ACCOUNTS.qos, default_accounts={"u": "c", "v": "a"})
    flags = "" if is_tree else "PriorityFlags=NO_FAIR_TREE"
    configuration = configuration_of("\n".join([SITE, "PriorityWeightAssoc=1000", "PriorityWeightQOS=1000", flags]))
    priorities = MultifactorPriorities(configuration, accounting)
    for number, (user, assoc, qos) in enumerate((("u", 1000.0, 1000.0), ("v", 250.0, 100.0))):
        priorities.submitted(job(number, user=user), 0.0)
        parts = priorities.parts(number)["p"]
        assert (parts.assoc, parts.qos) == (assoc, qos)
        share = priorities.shares.of(user)
        assert share is not None
        above = [each.name for each in share.path()]
        assert above == (["v", "a", "root"] if user == "v" else ["u", *("cb" if shares else ""), "a", "root"])


def test_jobs_age_always_if_they_shall() -> None:
    priorities = priorities_of("PriorityWeightAge=600", "PriorityFlags=ACCRUE_ALWAYS")
    priorities.submitted(job(submitted=0.0), 0.0)
    for now in (-60.0, 100.0):
        priorities.renew(now)
    assert priorities.priorities(1) == {"p": 100}


def test_without_a_database_there_are_no_calculations() -> None:
    conf = (
        SITE.replace("AccountingStorageType", "ClusterName=x\n#") + "PriorityWeightAge=600\nPriorityWeightFairshare=9"
    )
    priorities = MultifactorPriorities(configuration_of(conf), ACCOUNTS)
    assert priorities.submitted(job(), 0.0) == {"p": 1}
    assert priorities.next_time() == math.inf


def test_a_job_has_a_priority_in_each_of_its_partitions() -> None:
    priorities = priorities_of("PriorityWeightPartition=1000")
    assert priorities.submitted(job(partitions=("p", "q")), 0.0) == {"p": 250, "q": 1000}


WEIGHTED = """
PriorityType=priority/multifactor
PriorityWeightTRES=CPU=1000,Mem=2000,Node=500
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[0-4] CPUs=4 RealMemory=8000 Gres=gpu:a:1,gpu:b:1
PartitionName=all Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=1000
PartitionName=fast Nodes=n[0-3] MaxTime=60 DefMemPerCPU=500
"""
ASKS = st.fixed_dictionaries(
    {"tasks": st.integers(1, 6), "cpus_per_task": st.integers(1, 2)},
    optional={"memory_per_cpu": st.integers(1, 1000), "gpus": st.integers(1, 4)},
)


class Noted(MultifactorPriorities):
    """Priorities that keep the facts of all jobs, and the usage that they were charged for each second."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.facts: list[JobFacts] = []
        self.rates: list[float] = []

    def submitted(self, facts: JobFacts, now: float) -> Mapping[str, int]:
        self.facts.append(facts)
        return super().submitted(facts, now)

    def started(self, number: int, *given: Any) -> None:
        super().started(number, *given)
        self.rates.append(self._jobs[number].rate)


class Noting(SlurmScheduler):
    """The policy with priorities that are noted."""

    def _priorities(self, configuration: SlurmConfiguration) -> MultifactorOrder:
        self.noted = Noted(configuration, ACCOUNTS)
        return MultifactorOrder(self.noted, cluster_of(configuration).nodes)


def noted(conf: str, hosts: int, partition: str, asked: Mapping[str, Any]) -> Noted:
    """The priorities after the simulation of a job on so many hosts."""
    platform = described_platform([f"n{node} cores=4" for node in range(hosts)])
    data = json.dumps({"partition": partition, "slurm": {"shares": True, **asked}})
    scheduler = Noting(configuration_of(conf), accounting=ACCOUNTS)
    simulate(platform, Workload([StaticJob("1", 1.0, 1, "p", extra_data=data)], {"p": DelayProfile(5)}), scheduler)
    return scheduler.noted


@settings(max_examples=25)
@given(ASKS)
def test_the_resources_of_a_job_are_shares_of_each_of_its_partitions(asked: dict[str, int]) -> None:
    """Those by default are of its first partition, as in a real Slurm."""
    (facts,) = noted(WEIGHTED, 5, "all,fast", asked).facts
    cpus = asked["tasks"] * asked["cpus_per_task"]
    memory = cpus * asked.get("memory_per_cpu", 1000)
    assert facts.tres.get("gres/gpu", 0) == asked.get("gpus", 0)
    priorities = MultifactorPriorities(configuration_of(WEIGHTED), ACCOUNTS)
    priorities.submitted(facts, 0.0)
    for name, nodes in (("all", 5), ("fast", 4)):
        share = 1000 * cpus / (4 * nodes) + 2000 * memory / (8000 * nodes) + 500 / nodes
        assert priorities.parts(0)[name].tres == pytest.approx(share)


def test_the_shares_of_resources_are_those_of_sprio() -> None:
    """For `-n3`, it prints `cpu=150,mem=150,node=100` in one partition, and `cpu=188,mem=188,node=125` in the other."""
    facts = JobFacts(number=1, partitions=("all", "fast"), cpus=3, tres={"cpu": 3.0, "mem": 3000.0, "node": 1.0})
    priorities = MultifactorPriorities(configuration_of(WEIGHTED))
    assert priorities.submitted(facts, 0.0) == {"all": 400, "fast": 500}


def test_a_simulation_may_have_fewer_hosts_than_the_configuration_has_nodes() -> None:
    """Shares are those of the hosts that there are: 4 CPUs of 8, and 2,000 MiB of 16,000."""
    found = noted(WEIGHTED, 2, "fast", {"tasks": 4})
    assert found.submitted(found.facts[0], 9.0) == {"fast": 500 + 250 + 250}


@pytest.mark.parametrize(("weights", "rate"), [("GRES/gpu=10", 30), ("gres/gpu:a=1,gres/gpu:b=100", 201), ("cpu=1", 2)])
def test_gpus_are_charged(weights: str, rate: int) -> None:
    conf = WEIGHTED.replace("Default=YES", f"Default=YES TRESBillingWeights={weights}").replace("CPUs=4", "CPUs=2")
    conf = conf.replace("gpu:b:1", "gpu:b:2")
    assert noted(conf, 5, "all", {"tasks": 2, "nodes": [1, 1], "gpus": 3}).rates == [rate]


@pytest.mark.parametrize(
    ("asked", "rates"),
    [
        ({"gpus": "b:2"}, [20]),
        ({"gpus": "a:2"}, [2]),
        ({"tasks": 2, "gpus_per_task": "b:2"}, [40]),
        ({"gpus": "c:1"}, []),
    ],
)
def test_gpus_of_a_type_are_given(asked: dict[str, Any], rates: list[int]) -> None:
    """A node has one GPU of the type `a`, and two of the type `b`."""
    weights = "Default=YES TRESBillingWeights=gres/gpu:a=1,gres/gpu:b=10"
    conf = WEIGHTED.replace("Default=YES", weights).replace("gpu:b:1", "gpu:b:2")
    assert noted(conf, 5, "all", asked).rates == rates


def test_jobs_that_are_held_have_priority_0_until_they_are_released() -> None:
    priorities = priorities_of("PriorityWeightAge=600", "PriorityWeightPartition=1000")
    assert priorities.submitted(job(fixed=0), 0.0) == {"p": 0}
    priorities.submitted(job(2), 0.0)
    priorities.submitted(job(3, fixed=77), 0.0)
    priorities.held(2)
    for now in (-60.0, 100.0):
        priorities.renew(now)
    assert [priorities.priorities(number)["p"] for number in (1, 2, 3)] == [0, 0, 77]
    assert priorities.released(2, 100.0) == {"p": 250}


@pytest.mark.parametrize("flags", ["NO_FAIR_TREE", "NO_FAIR_TREE,INCR_ONLY"])
def test_a_priority_can_be_kept_from_falling(flags: str) -> None:
    priorities = priorities_of("PriorityWeightFairshare=500", f"PriorityFlags={flags}")
    priorities.renew(0.0)
    for number in (1, 2):
        priorities.submitted(job(number), 0.0)
    priorities.started(2, 0.0, "p", {"cpu": 4.0})
    for now in (60.0, 120.0):
        priorities.renew(now)
    (parts,) = priorities.parts(1).values()
    assert parts.total < 500
    assert priorities.priorities(1) == {"p": 500 if "INCR_ONLY" in flags else parts.total}


def test_running_jobs_have_new_priorities_if_they_shall() -> None:
    for flags, changed in (("NO_FAIR_TREE", [1]), ("NO_FAIR_TREE,CALCULATE_RUNNING", [1, 2])):
        priorities = priorities_of("PriorityWeightAge=600", f"PriorityFlags={flags}")
        for number in (1, 2):
            priorities.submitted(job(number), 0.0)
            priorities.eligible(number, 0.0)
        priorities.started(2, 5.0, "p", {"cpu": 4.0})
        priorities.renew(0.0)
        assert priorities.renew(60.0) == changed


@pytest.mark.parametrize(
    ("lines", "qos", "rate"),
    [
        ([], "high", 4.0),
        (["PartitionName=r TRESBillingWeights=cpu=1,gres/gpu=10,license/x=3"], "high", 30.0),
        (["PartitionName=r TRESBillingWeights=cpu=1,gres/gpu=10,license/x=3", "PriorityFlags=MAX_TRES"], "high", 26.0),
        (["PartitionName=r TRESBillingWeights=mem=0.5G"], "high", 1.0),
        ([], "half", 2.0),
    ],
)
def test_usage_is_charged_by_weights(lines: list[str], qos: str, rate: float) -> None:
    accounts = Accounting(
        associations=ACCOUNTS.associations, qos={**ACCOUNTS.qos, "half": SlurmQos(name="half", usage_factor=0.5)}
    )
    text = "\n".join([SITE, "PriorityDecayHalfLife=0", *lines])
    priorities = MultifactorPriorities(configuration_of(text), accounts)
    priorities.submitted(job(account="a", partitions=("r",), qos=qos), 0.0)
    priorities.renew(0.0)
    priorities.started(1, 10.0, "r", {"cpu": 4.0, "mem": 2048.0, "gres/gpu": 2.0, "license/x": 2.0})
    for now in (60.0, 120.0):
        priorities.renew(now)
    priorities.ended(1, 130.0)
    assert priorities.shares.root.usage == pytest.approx(120 * rate)


@pytest.mark.parametrize(("enforced", "seconds"), [("limits", 70), ("safe", 70), ("associations", 50)])
def test_ends_are_charged_where_limits_are_enforced(enforced: str, seconds: int) -> None:
    lines = [f"AccountingStorageEnforce={enforced}"] if enforced else []
    priorities = priorities_of("PriorityDecayHalfLife=0", *lines)
    priorities.submitted(job(account="a"), 0.0)
    priorities.renew(0.0)
    priorities.started(1, 10.0, "p", {"cpu": 1.0})
    priorities.renew(60.0)
    priorities.ended(1, 80.0)
    assert priorities.shares.root.usage == pytest.approx(seconds)


@pytest.mark.parametrize(("enforced", "seconds"), [("limits", 65), ("associations", 50)])
def test_a_job_is_charged_up_to_its_end_and_not_until_its_nodes_are_clean(enforced: str, seconds: int) -> None:
    """In a recorded run with an Epilog of 50 s, sshare has all usage of a job 2 s after its end, and no more later."""
    priorities = priorities_of("PriorityDecayHalfLife=0", f"AccountingStorageEnforce={enforced}")
    priorities.submitted(job(account="a"), 0.0)
    priorities.renew(0.0)
    priorities.started(1, 10.0, "p", {"cpu": 1.0})
    priorities.renew(60.0)
    priorities.stopped(1, 75.4)
    stopped = priorities.shares.root.usage
    priorities.ended(1, 110.0)
    assert (stopped, priorities.shares.root.usage) == (pytest.approx(seconds), pytest.approx(seconds))


@pytest.mark.parametrize(("enforced", "seconds"), [("limits", 30), ("associations", 0)])
def test_a_job_whose_nodes_are_not_clean_is_charged_no_more(enforced: str, seconds: int) -> None:
    priorities = priorities_of("PriorityDecayHalfLife=0", f"AccountingStorageEnforce={enforced}")
    priorities.submitted(job(account="a"), 0.0)
    priorities.renew(0.0)
    priorities.started(1, 10.0, "p", {"cpu": 1.0})
    priorities.stopped(1, 40.0)
    priorities.renew(60.0)
    priorities.renew(120.0)
    assert priorities.shares.root.usage == pytest.approx(seconds)


@settings(max_examples=40)
@given(st.integers(1, 500), st.integers(1, 500))
def test_the_tasks_of_an_array_that_wait_have_a_new_record_once_one_starts(mine: int, other: int) -> None:
    """Classic fair share computes a factor at the first job of a user: what comes later is not charged by then."""
    found = []
    for waits, array in ((2, "a"), (4, "")):
        lines = "PriorityFlags=NO_FAIR_TREE", "PriorityWeightFairshare=100000", "PriorityDecayHalfLife=0"
        priorities = priorities_of(*lines)
        for number, user in sorted(((1, "u"), (waits, "u"), (3, "v"))):
            facts = job(number, account="a", user=user, array=array if user == "u" else "")
            priorities.submitted(facts, 0.0)
        priorities.renew(0.0)
        priorities.started(1, 0.0, "p", {"cpu": float(mine)})
        priorities.started(3, 0.0, "p", {"cpu": float(other)})
        priorities.renew(60.0)
        found.append(priorities.parts(waits)["p"].fairshare)
    assert found[0] == found[1] > 0


def test_the_cpus_of_a_test_count_from_the_next_calculation_on() -> None:
    priorities = priorities_of("PriorityWeightJobSize=1000")
    first = priorities.submitted(job(), 0.0)
    priorities.sized(1, 32)
    assert (first, priorities.priorities(1)) == ({"p": 250}, {"p": 250})
    priorities.renew(60.0)
    assert priorities.priorities(1) == {"p": 625}


def test_known_calculations_take_the_place_of_those_that_are_due_near_them() -> None:
    lines = configuration_of("\n".join([SITE, "PriorityCalcPeriod=1"]))
    priorities = MultifactorPriorities(lines, ACCOUNTS, since=30.9, calculations=(91.02, 400.0))
    times = []
    while (time := priorities.next_time()) < 420.0:
        times.append(time)
        priorities.renew(time)
    assert times == pytest.approx([30.9, 91.02, 150.9, 210.9, 270.9, 330.9, 400.0])


def test_usage_decays_and_is_reset() -> None:
    charged = {}
    for lines in ("PriorityDecayHalfLife=5", "PriorityDecayHalfLife=0\nPriorityUsageResetPeriod=DAILY"):
        priorities = priorities_of(lines)
        priorities.submitted(job(), 0.0)
        priorities.renew(0.0)
        priorities.started(1, 0.0, "p", {"cpu": 1.0})
        priorities.renew(60.0)
        priorities.ended(1, 60.0)
        charged[lines[-5:]] = [priorities.shares.root.usage]
        for now in (360.0, 86400.0, 86460.0):
            priorities.renew(now)
            charged[lines[-5:]].append(priorities.shares.root.usage)
    decaying, reset = charged.values()
    assert decaying[:2] == pytest.approx([60 * 2**-0.2, 30 * 2**-0.2], rel=1e-3)  # Slurm's 0.693 is not ln 2
    assert decaying[3] < 1e-9
    assert reset == [60.0, 60.0, 0.0, 0.0]


FACTS = st.builds(
    job,
    number=st.just(1),
    user=st.sampled_from(["u", "v", "nobody"]),
    nodes=st.integers(1, 8),
    cpus=st.integers(0, 32),
    minutes=st.none() | st.integers(1, 10**6).map(float),
    nice=st.integers(-(2**31), 2**31),
    qos=st.sampled_from(["", "low", "high", "other"]),
    tres=st.dictionaries(st.sampled_from(["cpu", "mem", "gres/gpu"]), st.integers(0, 10**6).map(float)),
)
ALL = "\n".join(f"PriorityWeight{name}=1000" for name in ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS"))


@given(FACTS, st.booleans(), st.lists(st.integers(0, 2000), min_size=2, max_size=2).map(sorted))
def test_a_priority_is_the_sum_of_its_parts_and_grows_with_the_age(
    facts: JobFacts, is_tree: bool, ages: list[int]
) -> None:
    priorities = priorities_of(ALL, "PriorityWeightTRES=cpu=10,mem=10", "" if is_tree else "PriorityFlags=NO_FAIR_TREE")
    priorities.renew(-60.0)
    priorities.submitted(facts, 0.0)
    priorities.eligible(1, 0.0)
    seen = []
    for now in ages:
        priorities.renew(float(now))
        (parts,) = priorities.parts(1).values()
        names = ("age", "assoc", "fairshare", "size", "partition", "qos")
        assert all(0 <= getattr(parts, name) <= 1000 for name in names)
        total = sum(getattr(parts, name) for name in (*names, "tres")) - facts.nice
        (priority,) = priorities.priorities(1).values()
        assert isinstance(priority, int)
        assert abs(priority - min(max(total, 1), 2**32 - 1)) <= 1 + 1e-6
        seen.append(priority)
    assert seen[0] <= seen[1]


@given(st.permutations(range(4)))
def test_the_order_of_jobs_does_not_count_for_fair_tree(order: list[int]) -> None:
    """All usage of a calculation counts before a job gets its priority, so it does not matter who comes first."""
    users = ["u", "v", "u", "v"]
    seen = []
    for numbers in (range(4), order):
        priorities = priorities_of("PriorityWeightFairshare=1000", "PriorityWeightAge=10")
        priorities.renew(0.0)
        for number in numbers:
            priorities.submitted(job(number, user=users[number]), 0.0)
        priorities.started(3, 0.0, "p", {"cpu": 4.0})
        for now in (60.0, 120.0):
            priorities.renew(now)
        seen.append([priorities.priorities(number) for number in range(3)])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("flags", ["FAIR_TREE", "NO_FAIR_TREE"])
def test_calculations_are_made_up_for(flags: str) -> None:
    """Whether calculations are made in time or later, before the next event: usage and priorities are the same."""
    seen = []
    for is_in_time in (True, False):
        lines = "PriorityWeightFairshare=1000", "PriorityDecayHalfLife=1:00", f"PriorityFlags={flags}"
        priorities = priorities_of("PriorityWeightAge=10", *lines)
        for now, number in ((0.0, 1), (700.0, 1), (4000.0, 2), (9000.0, 2)):
            for step in range(0, int(now) + 1, 60) if is_in_time else ():
                priorities.advance(float(step))
            priorities.advance(now)
            if number in priorities:
                priorities.ended(number, now)
            else:
                priorities.submitted(job(number, user="uv"[number % 2]), now)
                priorities.started(number, now, "p", {"cpu": 4.0})
        first = priorities.submitted(job(3), 9000.0)
        seen.append((priorities.shares.root.usage, first))
    assert seen[0][0] == pytest.approx(seen[1][0])
    assert seen[0][0] > 0
    assert seen[0][1] == seen[1][1]
