"""The rules of a Slurm site under the policy `slurm`: who is refused, who waits, and why. Reasons are Slurm's."""

from __future__ import annotations

import json
import logging
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.policies.slurm.clock import Phases
from batprotocol.policies.slurm.cluster import ClusterPartition, cluster_of
from batprotocol.policies.slurm.fair_share import AccountMembers
from batprotocol.policies.slurm.queue import SlurmJob, SlurmQueue
from batprotocol.policies.slurm.rules import AccountLimits, UsageTotals
from batprotocol.policies.slurm.selection import SwitchTree, wanted_nodes
from batprotocol.simulator import ExternalEventList, StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.accounting import Accounting, AccountingLimits, SlurmAssociation, SlurmQos, accounting_of
from batprotocol.sites.slurm.configuration import SwitchLine, configuration_of

WITHOUT_ENGINE = True

CONF = """
NodeName=n[0-7] CPUs=1
PartitionName=p Nodes=ALL Default=YES {partition}
{more}
"""
LIMITS = "AccountingStorageEnforce=associations,limits,qos"
DUMP = """Cluster - 'c':Fairshare=1:QOS='normal'
Parent - 'root'
Account - 'a':Fairshare=1{account}
Parent - 'a'
User - 'u':DefaultAccount='a':Fairshare=1:QOS='normal,high,low'{user}
User - 'v':DefaultAccount='a':Fairshare=1:QOS='normal,high,low'
"""
QOS = "Name|Priority|Preempt|Flags|GrpTRES|GrpJobs|MaxTRES|MaxWall|MaxTRESPU|MaxJobsPU|MaxSubmitPU|MinTRES\n{rows}"


def runs(
    jobs: list[dict[str, object]],
    *,
    more: str = "",
    partition: str = "",
    account: str = "",
    user: str = "",
    qos: str = "",
) -> dict[str, float]:
    """When each job starts of some that are submitted together, each for 100 s with a limit of 2 minutes."""
    rows = qos or "normal|0|" + "|" * 9
    texts = [("dump", DUMP.format(account=account, user=user)), ("qos", QOS.format(rows=rows))]
    static = [
        StaticJob(
            str(number), number * 0.001, int(str(job.pop("size", 1))), DelayProfile(100.0), 120.0, json.dumps(job)
        )
        for number, job in enumerate({"user": "u", **each} for each in jobs)
    ]
    scheduler = SlurmScheduler(
        configuration_of(CONF.format(partition=partition, more=more)), accounting=accounting_of(texts)
    )
    simulate(described_platform("n[0-7] cores=1"), Workload(static), scheduler)
    return {start.job_id.rpartition("!")[2]: start.time for start in scheduler.starts}


def qos_row(**limits: str) -> str:
    names = [
        "Name",
        "Priority",
        "Preempt",
        "Flags",
        "GrpTRES",
        "GrpJobs",
        "MaxTRES",
        "MaxWall",
        "MaxTRESPU",
        "MaxJobsPU",
        "MaxSubmitPU",
        "MinTRES",
    ]
    return "|".join({"Name": "normal", "Priority": "0", **limits}.get(name, "") for name in names)


ONE_AFTER_THE_OTHER = {
    "GrpJobs": ("1", 1),
    "MaxJobsPU": ("1", 1),
    "GrpTRES": ("node=3", 2),
    "MaxTRESPU": ("cpu=3", 2),
}


@pytest.mark.parametrize("limit", ONE_AFTER_THE_OTHER)
def test_a_limit_of_a_qos_lets_one_job_run_after_the_other(limit: str) -> None:
    value, size = ONE_AFTER_THE_OTHER[limit]
    found = runs([{"size": size}] * 2, more=LIMITS, qos=qos_row(**{limit: value}))
    assert found["0"] < 5
    assert 100 < found["1"] < 110
    assert len(set(runs([{"size": size}] * 2, qos=qos_row(**{limit: value})).values())) == 1  # nothing is enforced


def test_jobs_that_wait_for_the_same_node_hold_up_no_other_job() -> None:
    """The last one starts with the main loop, as in the recording weights 33, before any run of the backfill."""
    on = {"slurm": {"nodelist": "n1"}}
    found = runs([on, on, {"size": 4, **on}, {}], more="SchedulerParameters=bf_interval=1000")
    assert found["0"] == found["3"] < 5
    assert found["1"] > 100
    assert found["2"] > 200
    assert runs([on, {"size": 4, **on}, {}])["2"] > 5  # the job of four nodes lacks nodes: only backfill passes it


@pytest.mark.parametrize("limit", [":MaxJobs=1", ":GrpJobs=1", ":GrpTRES='cpu=1'"])
def test_a_limit_of_an_association_holds_up_no_other_user(limit: str) -> None:
    found = runs([{}, {}, {"user": "v"}], more=LIMITS, user=limit)
    assert found["0"] == found["2"] < 5
    assert found["1"] > 100


NEVER = {"MaxTRES": "node=1", "MaxWall": "00:01:00", "MinTRES": "node=3", "MaxTRESPU": "cpu=1", "GrpTRES": "cpu=1"}


@pytest.mark.parametrize("limit", NEVER)
def test_a_job_that_breaks_a_limit_alone_waits_for_ever(limit: str) -> None:
    found = runs(
        [{"size": 2}, {"user": "v", "qos": "high"}],
        more=LIMITS,
        qos=qos_row(**{limit: NEVER[limit]}) + "\nhigh|0|" + "|" * 9,
    )
    assert set(found) == {"1"}


HALF = "PartitionName=half Nodes=n[0-3]"

REFUSED: tuple[tuple[dict[str, str], dict[str, object], str], ...] = (
    ({"more": LIMITS, "qos": qos_row(MaxSubmitPU="1")}, {}, "QOSMaxSubmitJobPerUserLimit"),
    ({"more": LIMITS, "user": ":MaxSubmitJobs=1"}, {}, "AssocMaxSubmitJobLimit"),
    ({"more": LIMITS, "qos": qos_row(MaxTRES="node=1", Flags="DenyOnLimit")}, {"size": 2}, "QOSMaxNodePerJobLimit"),
    ({"more": LIMITS}, {"qos": "fast"}, "quality of service"),
    ({"more": LIMITS}, {"user": "w"}, "association"),
    ({"more": "Licenses=matlab:2"}, {"licenses": "matlab:3"}, "Invalid license specification"),
    ({"more": "Licenses=matlab:2"}, {"licenses": "ansys"}, "Invalid license specification"),
    ({"partition": "RootOnly=YES"}, {}, "only root"),
    ({"partition": "AllowGroups=g"}, {"group": "h"}, "group"),
    ({"partition": "DenyAccounts=b", "more": "EnforcePartLimits=ANY"}, {"account": "b"}, "Invalid account"),
    ({"partition": "AllowQos=high", "more": "EnforcePartLimits=ALL"}, {}, "Invalid qos"),
    ({"partition": "State=DRAIN"}, {}, "inactive or drain"),
    ({"partition": "ReqResv=YES"}, {}, "reservation"),
    ({"partition": "MaxNodes=1", "more": "EnforcePartLimits=ALL"}, {"size": 2}, "too many nodes"),
    (
        {"more": HALF},
        {"partition": "half", "slurm": {"nodelist": "n[3-4]"}},
        "partition half does not have all of them",
    ),
    ({}, {"slurm": {"nodelist": "n1", "exclude": "n1"}}, "it asks for n1, and partition p does not"),
)


@pytest.mark.parametrize(("site", "job", "reason"), REFUSED, ids=[each[2].replace(" ", "_") for each in REFUSED])
def test_slurm_refuses_a_job_with_its_reason(
    site: dict[str, str], job: dict[str, object], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "batprotocol.policies"):
        found = runs([{"user": "u"}, dict(job)], **site)
    assert "1" not in found
    assert any(reason in record.getMessage() for record in caplog.records), caplog.text


def test_nodes_that_one_of_the_partitions_has_are_enough() -> None:
    """As a real Slurm 22.05 takes it, if `EnforcePartLimits` is not `ALL`."""
    assert runs([{"partition": "half,p", "slurm": {"nodelist": "n4"}}], more=HALF)["0"] < 65


def test_a_job_without_its_licences_holds_up_no_other() -> None:
    jobs: list[dict[str, object]] = [{"licenses": "matlab:2"}, {"licenses": {"matlab": 1}}, {}]
    found = runs(jobs, more="Licenses=matlab:2")
    assert found["0"] == found["2"] < 5
    assert found["1"] > 100


def test_licences_that_are_reserved_are_not_given_out_before_the_end_of_the_reservation() -> None:
    conf = configuration_of(CONF.format(partition="", more="Licenses=matlab:2"))
    scheduler = SlurmScheduler(conf)
    jobs = [
        StaticJob(str(count), 5.0, 1, DelayProfile(9.0), 60.0, json.dumps({"licenses": {"matlab": count}}))
        for count in (1, 2)
    ]
    command = "scontrol create reservation ReservationName=r StartTime=now+30 Duration=4 Licenses=matlab:1"
    wrong = command.replace("now+30", "noon")
    events = ExternalEventList.of([(0.0, json.dumps({"slurm": text})) for text in (command, wrong)], corrected=True)
    simulate(described_platform("n[0-7] cores=1"), Workload(jobs), scheduler, external_events=[events])
    found = {start.job_id[-1]: start.time for start in scheduler.starts}
    assert 5 <= found["1"] < 10
    assert 270 <= found["2"] < 335


def test_jobs_keep_their_licences_until_their_nodes_are_clean() -> None:
    """The nodes of the first job are clean 50 s after its end. The second one could have others."""
    conf = configuration_of(CONF.format(partition="", more="Licenses=matlab:1"))
    jobs = [
        StaticJob(number, 1.0, 1, DelayProfile(9.0), 60.0, json.dumps({"licenses": {"matlab": 1}})) for number in "01"
    ]
    scheduler = SlurmScheduler(conf, Phases(epilogs={"0": 50.0}))
    simulate(described_platform("n[0-7] cores=1"), Workload(jobs), scheduler)
    first, second = scheduler.starts
    assert 50 <= second.time - first.time - 9.0 < 65


def test_the_first_node_of_a_killed_job_is_clean_after_the_others() -> None:
    """So a job of seven nodes starts before one that requires the first node."""
    static = [
        StaticJob("0", 0.0, 8, DelayProfile(1000.0), 60.0),
        StaticJob("1", 1.0, 7, DelayProfile(900.0), 1200.0),
        StaticJob("2", 2.0, 1, DelayProfile(9.0), 60.0, json.dumps({"slurm": {"nodelist": "n0"}})),
    ]
    scheduler = SlurmScheduler(
        configuration_of(CONF.format(partition="", more="")), Phases(others=50.0, cleaning=200.0, epilog=0.5)
    )
    simulate(described_platform("n[0-7] cores=1"), Workload(static), scheduler)
    first, second, third = scheduler.starts
    assert (first.nodes, second.nodes, third.nodes) == (tuple(range(8)), tuple(range(1, 8)), (0,))
    killed = first.time + 60.0
    assert killed + 50.0 <= second.time < killed + 50.0 + 61 + 60  # limits are checked twice a minute
    assert third.time - second.time > 60.0
    assert killed + 200.0 <= third.time


def reserved(
    job: dict[str, object], *commands: str, more: str = "", size: int = 5, other: dict[str, object] | None = None
) -> dict[str, tuple[float, tuple[int, ...]]]:
    """When and where a job of 3 nodes starts that comes at 5, and another one, after these commands."""
    scheduler = SlurmScheduler(configuration_of(CONF.format(partition="", more=more)))
    jobs = [
        StaticJob("0", 5.0, 3, DelayProfile(9.0), 60.0, json.dumps({"user": "u", **job})),
        StaticJob("1", 5.0, size, DelayProfile(9.0), 240.0, json.dumps(other or {"user": "v"})),
    ]
    texts = [f"scontrol create reservation ReservationName={command}" for command in commands]
    events = ExternalEventList.of([(0.0, json.dumps({"slurm": text})) for text in texts], corrected=True)
    simulate(described_platform("n[0-7] cores=1"), Workload(jobs), scheduler, external_events=[events])
    return {start.job_id[-1]: (start.time, start.nodes) for start in scheduler.starts}


def test_nodes_are_reserved_by_a_command() -> None:
    found = reserved({"reservation": "r"}, "r StartTime=now+30 Duration=4 Users=u Nodes=n[2-5]")
    assert 30 <= found["0"][0] < 32
    assert set(found["0"][1]) < {2, 3, 4, 5}
    assert found["1"][0] > 270  # it ends after the begin, so the reserved nodes are not for it


def test_a_job_that_no_end_of_another_helps_holds_up_no_other_job() -> None:
    """Reservations leave it too few nodes, and nobody is on these: only if somebody is, others wait for it."""
    command, more = "r StartTime=now+30 Duration=4 Users=u Nodes=n[0-5]", "SchedulerType=sched/builtin"
    found = reserved({"user": "v"}, command, more=more, size=2)
    assert (found["1"][0] < 10, found["1"][1]) == (True, (6, 7))
    assert found["0"][0] > 270
    found = reserved({"user": "v", "begin": "now+20"}, command, more=more, size=1)
    assert found["1"][0] < 10  # it is on one of the two nodes when the other one comes
    assert found["0"][0] > 250


@settings(max_examples=8, deadline=None)
@given(st.integers(7, 56))
def test_the_begin_of_a_reservation_is_seen_within_six_seconds(begin: int) -> None:
    """Without backfill, which also runs as long as there is a reservation."""
    command = f"r StartTime=now+{begin} Duration=4 Users=u Nodes=n[2-5]"
    found = reserved({"reservation": "r"}, command, more="SchedulerType=sched/builtin")
    assert begin <= found["0"][0] <= begin + 6


def test_jobs_of_a_flexible_reservation_are_bound_neither_to_its_times_nor_to_its_nodes() -> None:
    found = reserved({"reservation": "r"}, "r StartTime=now+300 Duration=4 Users=u Nodes=n[2-4] Flags=FLEX")
    assert found["0"][0] < 10


def test_only_the_second_loop_starts_jobs_larger_than_a_flexible_reservation() -> None:
    """Others of the reservation need not wait for them."""
    command = "r StartTime=now+300 Duration=4 Users=u Nodes=n[2-3] Flags=FLEX"
    assert 10 < reserved({"reservation": "r"}, command)["0"][0] < 20
    more, other = "SchedulerType=sched/builtin", {"user": "u", "reservation": "r"}
    found = reserved({"reservation": "r"}, command, more=more, size=2, other={**other})
    assert set(found) == {"1"}
    assert found["1"][0] < 10


def test_a_job_that_waits_for_maintenance_has_others_of_its_reservation_wait() -> None:
    r, m = "r StartTime=now+30 Duration=9 Users=u Nodes=n[2-4]", "m StartTime=now+30 Duration=1 Users=root Nodes=n4"
    more, other = "SchedulerType=sched/builtin", {"user": "u", "reservation": "r"}
    found = reserved({"reservation": "r"}, r, f"{m} Flags=maint", more=more, size=1, other={**other})
    assert min(start for start, _ in found.values()) >= 90
    alone = reserved({"begin": "now+200"}, r, f"{m} Flags=maint", more=more, size=1, other={**other})
    assert 30 <= alone["1"][0] < 40


@pytest.mark.parametrize(("flags", "begin"), [("", 90), ("Flags=OVERLAP", 90), ("Flags=MAINT", 30)])
def test_maintenance_keeps_its_nodes_from_another_reservation(flags: str, begin: int) -> None:
    """Only jobs of maintenance ignore it."""
    long = f"r StartTime=now+30 Duration=9 Users=u Nodes=n[2-4] {flags}"
    found = reserved({"reservation": "r"}, long, "m StartTime=now+30 Duration=1 Users=root Nodes=n4 Flags=maint")
    assert begin <= found["0"][0] < begin + 62


def test_a_job_that_is_larger_than_its_reservation_fails_when_that_begins() -> None:
    found = reserved({"reservation": "r"}, "r StartTime=now+30 Duration=4 Users=u Nodes=n[2-3]")
    assert set(found) == {"1"}


@pytest.mark.parametrize(("exempt", "begin"), [("0", 5), ("0:0:45", 45)])
def test_a_job_gives_way_once_it_has_run_for_a_time(exempt: str, begin: int) -> None:
    qos = "\n".join([qos_row(), qos_row(Name="high", Preempt="low"), qos_row(Name="low")])
    more = f"PreemptType=preempt/qos\nPreemptMode=CANCEL\nPreemptExemptTime={exempt}"
    jobs: list[dict[str, object]] = [{"size": 8, "qos": "low"}, {"size": 2, "qos": "high", "begin": "now+5"}]
    assert 0 <= runs(jobs, more=more, qos=qos)["1"] - begin < 40


def test_low_jobs_give_way_to_high_ones() -> None:
    qos = "\n".join([qos_row(), qos_row(Name="high", Preempt="low"), qos_row(Name="low")])
    more = "PreemptType=preempt/qos\nPreemptMode=CANCEL"
    found = runs([{"size": 8, "qos": "low"}, {"size": 2, "qos": "high", "begin": "now+5"}], more=more, qos=qos)
    assert found["1"] < 20
    found = runs([{"size": 8, "qos": "low"}, {"size": 2, "qos": "normal"}], more=more, qos=qos)
    assert found["1"] > 100


def test_a_job_beyond_a_limit_of_cpus_has_others_wait_for_no_nodes() -> None:
    """Its limit comes first, also where it lacks nodes: 6 of 8 are busy, and it asks for 4."""
    qos = "\n".join([qos_row(), qos_row(Name="low", MaxTRESPU="cpu=3")])
    more = f"{LIMITS}\nSchedulerType=sched/builtin"
    jobs: list[dict[str, object]] = [{"size": 6}, {"size": 4, "qos": "low"}, {"size": 2, "begin": "now+5"}]
    found = runs([{**each} for each in jobs], more=more, qos=qos)
    assert set(found) == {"0", "2"}
    assert found["2"] < 40
    assert runs(jobs, more=more, qos="\n".join([qos_row(), qos_row(Name="low")]))["2"] > 100


def test_a_limit_of_an_account_keeps_no_smaller_job_waiting() -> None:
    """With assoc_limit_stop, only the second loop starts it: the first one stops at the job beyond the limit."""
    more = f"{LIMITS}\nSchedulerParameters=assoc_limit_stop,bf_interval=10"
    found = runs([{"size": 3}, {"size": 2}, {"size": 1}], more=more, account=":GrpTRES=cpu=4")
    assert found["0"] < 5
    assert 5 < found["2"] < 40
    assert found["1"] > 100


def test_a_job_that_has_others_give_way_starts_in_the_same_partition() -> None:
    """Although it could start at once in the other one."""
    conf = """
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
NodeName=n[0-7]
PartitionName=low Nodes=ALL Default=YES
PartitionName=mid Nodes=n[4-7] PriorityTier=2
PartitionName=high Nodes=n[0-3] PriorityTier=3
"""
    asked = [(0.0, 4, {"partition": "low"}), (20.0, 2, {"partition": "mid,high"})]
    jobs = [
        StaticJob(str(number), time, size, DelayProfile(100.0), 120.0, json.dumps(each))
        for number, (time, size, each) in enumerate(asked)
    ]
    scheduler = SlurmScheduler(configuration_of(conf))
    simulate(described_platform("n[0-7] cores=1"), Workload(jobs), scheduler)
    first, second = scheduler.starts
    assert first.nodes == (0, 1, 2, 3)
    assert (second.partition, second.nodes) == ("high", (0, 1))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_the_order_is_the_usual_one_where_no_job_gives_way(priorities: list[int]) -> None:
    partition = ClusterPartition("p", 1)
    usual, sorted_by_halves = SlurmQueue(), SlurmQueue(is_above=lambda one, other: False)
    for number, priority in enumerate(priorities):
        job = SlurmJob(str(number), number, 0.0, (partition,), 1)
        job.priority = {"p": priority}
        usual.add(job, [partition])
        sorted_by_halves.add(job, [partition])
    ordered = [[(each.job, each.partition) for _, _, each in queue.snapshot()] for queue in (sorted_by_halves, usual)]
    assert ordered[0] == ordered[1]


@given(st.integers(0, 2**12 - 1), st.integers(1, 12))
def test_a_tree_gives_as_many_nodes_as_asked_for_at_few_leaves(free: int, count: int) -> None:
    leaves = [SwitchLine(name=f"s{each}", nodes=tuple(f"n{4 * each + node}" for node in range(4))) for each in range(3)]
    tree = SwitchTree(
        [*leaves, SwitchLine(name="top", switches=("s0", "s1", "s2"))], {f"n{node}": node for node in range(12)}
    )
    found = tree.of_whole(SlurmJob("1", 1, 0.0, (), 1), free, count)
    if free.bit_count() < count:
        assert found is None
        return
    assert found is not None
    assert found.bit_count() == count
    assert not found & ~free
    fitting = [leaf for leaf in tree.leaves if (leaf & free).bit_count() >= count]
    if fitting:  # the leaf with the fewest free nodes
        assert tree.used(found) == 1
        chosen = next(leaf for leaf in fitting if leaf & found)
        assert (chosen & free).bit_count() == min((leaf & free).bit_count() for leaf in fitting)


@pytest.mark.parametrize(("count", "nodes"), [(6, [1, 2, 3, 4, 10, 11]), (8, [1, 2, 3, 4, 5, 6, 10, 11])])
def test_whole_nodes_at_several_leaves_are_those_that_a_real_slurm_gave(count: int, nodes: list[int]) -> None:
    leaves = [SwitchLine(name=f"s{each}", nodes=tuple(f"n{4 * each + node}" for node in range(4))) for each in range(3)]
    tree = SwitchTree(
        [*leaves, SwitchLine(name="top", switches=("s0", "s1", "s2"))], {f"n{node}": node for node in range(12)}
    )
    free = sum(1 << node for node in (1, 2, 3, 4, 5, 6, 7, 10, 11))
    assert tree.of_whole(SlurmJob("1", 1, 0.0, (), 1), free, count) == sum(1 << node for node in nodes)


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 100)), max_size=6))
def test_what_starts_and_ends_leaves_nothing_but_what_was_spent(jobs: list[tuple[int, int]]) -> None:
    tally = UsageTotals()
    for cpus, seconds in jobs:
        tally.start({"cpu": cpus}, 100)
        tally.run({"cpu": cpus}, float(seconds), seconds)
        tally.start({"cpu": cpus}, 100 - seconds, -1)
    assert (tally.jobs, tally.tres["cpu"], tally.ahead["cpu"]) == (0, 0, 0)
    assert math.isclose(tally.spent.get("cpu", 0.0), sum(cpus * seconds for cpus, seconds in jobs))


ENFORCED = frozenset({"associations", "limits", "qos"})
PART = ClusterPartition(name="p", nodes=0xFF)


def keeper(*, account: AccountingLimits, high: AccountingLimits, enforce: frozenset[str] = ENFORCED) -> AccountLimits:
    """The limits of an account, and of a quality of service that counts twice."""
    accounting = Accounting(
        associations=(
            SlurmAssociation(account="root"),
            SlurmAssociation(account="a", parent="root", limits=account),
            SlurmAssociation(account="a", user="u", qos=("normal", "high")),
        ),
        qos={"normal": SlurmQos(name="normal"), "high": SlurmQos(name="high", usage_factor=2.0, limits=high)},
        default_accounts={"u": "a"},
    )
    return AccountLimits(AccountMembers(accounting, enforce), enforce)


def of_user(name: str, keeper: AccountLimits, *, qos: str = "normal", cpus: int = 4, limit: float = 3.0) -> SlurmJob:
    """A job of the user that is submitted, without a limit."""
    job = SlurmJob(name, int(name), 0.0, (PART,), 1)
    job.user, job.qos, job.tasks, job.limit = "u", qos, cpus, limit
    keeper.submitted(job)
    return job


def begin(job: SlurmJob, keeper: AccountLimits, nodes: int, now: float = 0.0) -> SlurmJob:
    job.partition, job.started, job.end = PART, now, now + 60 * job.limit
    keeper.started(job, nodes, job.cpus)
    return job


NONE = AccountingLimits()


def test_the_usage_factor_counts_for_running_jobs_and_not_for_the_one_that_asks() -> None:
    """As in a recorded run: 4 CPUs for 3 minutes count as 24 under a factor of 2."""
    limits = keeper(account=AccountingLimits(tres_run_minutes={"cpu": 40}), high=NONE)
    begin(of_user("1", limits, qos="high"), limits, 1)
    reason = "AssocGrpCPURunMinutesLimit"
    assert limits.after(of_user("2", limits, qos="high", cpus=16, limit=1.0), PART, 1, 16) == ""
    assert limits.after(of_user("3", limits, cpus=17, limit=1.0), PART, 1, 17) == reason
    limits.charge(90.0)  # half of it is left: 12
    assert limits.after(of_user("4", limits, cpus=28, limit=1.0), PART, 1, 28) == ""
    assert limits.after(of_user("5", limits, cpus=29, limit=1.0), PART, 1, 29) == reason


def test_a_node_that_jobs_share_counts_once() -> None:
    limits = keeper(account=AccountingLimits(tres={"node": 2}), high=NONE)
    first = begin(of_user("1", limits), limits, 0b011)
    second = begin(of_user("2", limits), limits, 0b001)
    asked = of_user("3", limits)
    assert limits.after(asked, PART, 1, 4, 0b010) == ""
    assert limits.after(asked, PART, 2, 4, 0b110) == limits.after(asked, PART, 1, 4) == "AssocGrpNodeLimit"
    limits.ended(first, 10.0)
    assert limits.after(asked, PART, 1, 4, 0b100) == ""
    assert limits.after(asked, PART, 2, 4, 0b110) == "AssocGrpNodeLimit"
    limits.ended(second, 20.0)
    assert limits.after(asked, PART, 2, 4, 0b110) == ""


@pytest.mark.parametrize(
    ("account", "high", "normal_most", "high_most"),
    [
        (NONE, AccountingLimits(tres={"node": 4}), math.inf, 4),
        (AccountingLimits(tres={"node": 3}), AccountingLimits(tres_job={"node": 4}), 3, 3),
        (AccountingLimits(tres={"node": 3}), AccountingLimits(tres={"node": 4}, tres_user={"node": 5}), 3, 4),
        (AccountingLimits(tres_job={"node": 2}), NONE, 2, 2),
        (AccountingLimits(tres={"cpu": 2}), NONE, math.inf, math.inf),
    ],
)
def test_limits_bound_the_nodes_of_a_range(
    account: AccountingLimits, high: AccountingLimits, normal_most: float, high_most: float
) -> None:
    """As in a recorded run: `-N3-9` of a quality of service with GrpTRES=node=4 has four nodes, and does not wait."""
    limits = keeper(account=account, high=high)
    found = of_user("1", limits), of_user("2", limits, qos="high")
    assert tuple(limits.most_nodes(each, PART) for each in found) == (normal_most, high_most)
    bounded, partition = (
        found[1],
        cluster_of(configuration_of("NodeName=n[0-9]\nPartitionName=p Nodes=ALL")).partitions[0],
    )
    bounded.min_nodes, bounded.max_nodes, bounded.most_nodes = 1, 9, high_most
    assert wanted_nodes(bounded, partition, 1)[0] == min(high_most, 9)


def test_a_limit_of_a_quality_of_service_hides_that_of_the_account_of_the_same_resource() -> None:
    """As in a recorded run: 17 CPUs of an account with GrpTRES=cpu=10, whose jobs are of a quality with cpu=9."""
    limits = keeper(
        account=AccountingLimits(tres={"cpu": 4, "node": 1}, jobs=1), high=AccountingLimits(tres={"cpu": 9}, jobs=5)
    )
    begin(of_user("1", limits, qos="high"), limits, 1)
    high, normal = of_user("2", limits, qos="high"), of_user("3", limits)
    assert limits.before(high, PART) == ""
    assert limits.after(high, PART, 1, 5, 1) == ""
    assert limits.after(high, PART, 1, 6, 1) == "QOSGrpCpuLimit"
    assert limits.after(high, PART, 1, 4, 2) == "AssocGrpNodeLimit"
    assert limits.before(normal, PART) == "AssocGrpJobsLimit"
    assert limits.after(normal, PART, 1, 1, 1) == "AssocGrpCpuLimit"


@pytest.mark.parametrize("high", [AccountingLimits(tres_minutes={"cpu": 10}), AccountingLimits(wall=150.0)])
def test_running_jobs_use_up_what_they_share(high: AccountingLimits) -> None:
    """Of 4 CPUs that count twice, ten minutes are used up after 75 s. A job without the resource goes on."""
    limits = keeper(account=NONE, high=high)
    one, other = (begin(of_user(name, limits, qos="high"), limits, 1) for name in ("1", "2"))
    begin(of_user("3", limits), limits, 2)
    limits.charge(30.0)
    assert limits.overdrawn() == []
    limits.charge(38.0)
    assert limits.overdrawn() == [one, other]
    assert limits.before(of_user("4", limits, qos="high"), PART).startswith("QOSGrp")
    limits.ended(one, 40.0)
    assert limits.overdrawn() == [other]
    safe = keeper(account=NONE, high=high, enforce=ENFORCED | {"safe"})
    begin(of_user("1", safe, qos="high"), safe, 1)
    safe.charge(100.0)
    assert safe.overdrawn() == []


def test_jobs_that_have_used_up_what_they_share_end_at_the_next_check_of_limits() -> None:
    """The first job ends after 100 s, and has used up the minutes of the account: the second one ends at 105 s."""
    texts = [("dump", DUMP.format(account=":GrpTRESMins='cpu=3'", user="")), ("qos", QOS.format(rows=qos_row()))]
    jobs = [
        StaticJob(str(number), 0.0, size, DelayProfile(time), 600.0, json.dumps({"user": "u"}))
        for number, (size, time) in enumerate([(2, 100.0), (1, 300.0)])
    ]
    configuration = configuration_of(CONF.format(partition="", more=LIMITS))
    scheduler = SlurmScheduler(configuration, accounting=accounting_of(texts), phases=Phases(limits=-15.0))
    found = simulate(described_platform("n[0-7] cores=1"), Workload(jobs), scheduler)
    assert [row.finish_time for row in found.jobs] == [pytest.approx(101, abs=3), pytest.approx(105, abs=2)]


def test_a_job_beyond_a_limit_has_no_nodes_set_aside_in_the_future() -> None:
    """Backfill plans a job of 7 nodes behind one of 5, unless the user may have 9 nodes: then another job may start."""
    more = f"{LIMITS}\nSchedulerParameters=bf_interval=10,bf_resolution=1"
    jobs = [{"size": 5}, {"size": 7}, {"size": 3, "user": "v"}]
    assert runs(jobs, more=more)["2"] > 100  # it would end after the start of the second one
    assert runs(jobs, more=more, user=":GrpTRES='node=9'")["2"] < 20


def test_a_quality_of_service_with_no_reserve_has_no_nodes_set_aside() -> None:
    more = "SchedulerParameters=bf_interval=10,bf_resolution=1"
    rows = f"{qos_row()}\n{qos_row(Name='high', Flags='NoReserve')}"
    jobs = [{"size": 5}, {"size": 7, "qos": "high"}, {"size": 3}]
    assert runs(jobs, more=more, qos=rows)["2"] < 20
    assert runs(jobs, more=more, qos=rows.replace("NoReserve", ""))["2"] > 100


def test_a_job_that_is_larger_than_one_of_its_partitions_holds_up_no_other_there() -> None:
    """The small partition comes first, and a job of all nodes can only run in the other one."""
    more = "PartitionName=small Nodes=n[0-3] PriorityTier=9\nSchedulerParameters=bf_interval=1000"
    large = {"size": 8, "partition": ["p", "small"]}
    found = runs([{"slurm": {"nodelist": "n7"}}, large, {"size": 4, "partition": "small"}], more=more)
    assert found["2"] < 5
    assert found["1"] > 100


def test_a_job_that_must_have_a_drained_node_and_others_holds_up_its_partition() -> None:
    """One that needs this node alone does not."""
    more = "DownNodes=n1 State=DRAIN Reason=x\nSchedulerParameters=bf_interval=30"
    on = {"slurm": {"nodelist": "n1"}}
    assert runs([{}, {"size": 3, **on}, {}], more=more)["2"] > 10
    assert runs([{}, on, {}], more=more)["2"] < 5


def test_a_node_that_slurm_conf_has_down_works_if_all_return_to_service() -> None:
    """It registers when slurmctld starts. The state of `DownNodes` takes the place of that of its line."""
    jobs, down = [{"size": 8}], "DownNodes=n1 State=DOWN Reason=x"
    assert runs(jobs, more=f"{down}\nReturnToService=2")["0"] < 5
    assert "0" not in runs(jobs, more=f"{down}\nReturnToService=1")
    assert "0" not in runs(jobs, more="DownNodes=n1 State=DRAIN Reason=x\nReturnToService=2")


def test_a_job_that_no_nodes_suit_is_held_and_keeps_nobody_waiting() -> None:
    """Its counted nodes and those that it names are more than it may have."""
    more = "NodeName=a[0-3] Feature=a\nNodeName=b[0-3] Feature=b\nPartitionName=f Nodes=a[0-3],b[0-3]"
    usual = {"partition": "f", "slurm": {"nodelist": "b3"}}
    odd = {"size": 3, "partition": "f", "slurm": {"nodelist": "a[0-1]"}, "constraint": "[a*1&b*2]"}
    jobs = [
        StaticJob(
            str(place), 1 + place / 1000, int(str(job.pop("size", 1))), DelayProfile(100.0), 120.0, json.dumps(job)
        )
        for place, job in enumerate((usual, odd, {"partition": "f", "size": 7}))
    ]
    scheduler = SlurmScheduler(configuration_of(more))
    simulate(described_platform("a[0-3] cores=1; b[0-3] cores=1"), Workload(jobs), scheduler)
    assert [(start.job_id[-1], start.time < 5) for start in scheduler.starts] == [("0", True), ("2", True)]
