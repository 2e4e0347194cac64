"""The commands of operators under the policy `slurm`, as a real Slurm 22.05 follows them."""

from __future__ import annotations

import json
import logging

import pytest

from batprotocol.model import DelayProfile
from batprotocol.policies.slurm import Phases, SlurmScheduler
from batprotocol.policies.slurm.clock import USUAL
from batprotocol.simulator import ExternalEventList, StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.accounting import accounting_of
from batprotocol.sites.slurm.configuration import configuration_of

WITHOUT_ENGINE = True

CONF = """
NodeName=n[0-1] CPUs=1
PartitionName=p Nodes=ALL Default=YES
PartitionName=q Nodes=ALL PriorityTier=5
{more}
"""
QOS = "Name|Priority\nnormal|0\nhigh|100"
DATABASE = "AccountingStorageType=accounting_storage/slurmdbd"
FACTORS = f"PriorityType=priority/multifactor\nPriorityWeightQOS=1000\n{DATABASE}"


def starts(*commands: tuple[float, str], hold: str = "", more: str = "", jobs: int = 4) -> list[tuple[str, float]]:
    """The starts of jobs of both nodes for 20 s each, which come together. Job 0 starts first, then commands come."""
    static = [
        StaticJob(
            str(number),
            1 + number * 0.001,
            2,
            DelayProfile(20.0),
            600.0,
            json.dumps({"slurm": {"hold": True}} if str(number) == hold else {}),
        )
        for number in range(jobs)
    ]
    scheduler = SlurmScheduler(configuration_of(CONF.format(more=more)), accounting=accounting_of([("qos", QOS)]))
    texts = [(time, json.dumps({"slurm": text})) for time, text in commands]
    events = [ExternalEventList.of(texts, corrected=True)] if texts else []
    simulate(described_platform("n[0-1] cores=1"), Workload(static), scheduler, external_events=events)
    return [(start.job_id.rpartition("!")[2], start.time) for start in scheduler.starts]


def order(*commands: tuple[float, str], hold: str = "", more: str = "") -> str:
    return "".join(job for job, _ in starts(*commands, hold=hold, more=more))


ORDERS = {
    "a job that is released comes last": ([(5.0, "scontrol hold 1"), (6.0, "scontrol release 1")], "", "0231"),
    "a job that is released and was not held comes last": ([(6.0, "scontrol release 1")], "", "0231"),
    "a nice value is forgotten then": (
        [(4.0, "scontrol update JobId=1 Nice=1000000000"), (6.0, "scontrol release 1,2")],
        "",
        "0312",
    ),
    "a held job keeps its nice value": (
        [
            *((4.0, "scontrol update JobId=1 Nice=1000000000"), (5.0, "scontrol hold 1")),
            *((6.0, "scontrol release 1"), (7.0, "scontrol release 2")),
        ],
        "",
        "0321",
    ),
    "a nice value frees a held job, which comes last": (
        [(5.0, "scontrol hold 1"), (6.0, "scontrol update JobId=1 Nice=-20")],
        "",
        "0231",
    ),
    "a held job with factors stays so with a nice value": (
        [(5.0, "scontrol hold 1"), (6.0, "scontrol update JobId=1 Nice=-20")],
        FACTORS,
        "023",
    ),
    "a held job with factors has its nice value when it is released": (
        [
            *((4.0, "scontrol update JobId=1,2,3 QOS=high"), (5.0, "scontrol hold 1")),
            *((6.0, "scontrol update JobId=1 Nice=50"), (7.0, "scontrol release 1")),
        ],
        FACTORS,
        "0231",
    ),
    "a job that was freed by a nice value may get a priority": (
        [
            *((5.0, "scontrol hold 3"), (6.0, "scontrol update JobId=3 Nice=-20")),
            (7.0, "scontrol update JobId=3 Priority=4294967290"),
        ],
        "",
        "0312",
    ),
    "priority 0 holds": ([(5.0, "scontrol update JobId=1 Priority=0"), (6.0, "scontrol release 1")], "", "0231"),
    "a held job has no priority to change": (
        [(5.0, "scontrol hold 1"), (6, "scontrol update JobId=1 Priority=9"), (7, "scontrol release 1")],
        "",
        "0231",
    ),
    "an operator's priority": ([(5.0, "scontrol update JobId=1,2 Priority=7")], "", "0312"),
    "a nice value": ([(5.0, "scontrol update JobId=1 Nice=1000000000")], "", "0231"),
    "a nice value after a priority": (
        [(5.0, "scontrol update JobId=3 Priority=4294967290"), (6.0, "scontrol update JobId=3 Nice=100")],
        "",
        "0312",
    ),
    "a higher tier": ([(5.0, "scontrol update JobId=3 Partition=q")], "", "0312"),
    "an unknown partition": ([(5.0, "scontrol update JobId=3 Partition=r")], "", "0123"),
    "a quality of service": ([(5.0, "scontrol update JobId=2 QOS=high")], FACTORS, "0213"),
    "a priority instead of factors": ([(5.0, "scontrol update JobId=3 Priority=5")], FACTORS, "0312"),
    "a nice value among factors": (
        [(4.0, "scontrol update JobId=2,3 QOS=high"), (5.0, "scontrol update JobId=2 Nice=50")],
        FACTORS,
        "0321",
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_of_jobs_after_a_command(name: str) -> None:
    commands, more, expected = ORDERS[name]
    assert order(*commands, more=more) == expected


def test_a_job_that_is_submitted_held_takes_its_number_when_it_is_released() -> None:
    assert order((5.0, "scontrol release 1"), hold="1") == "0231"


def test_a_job_that_has_ended_runs_again_121_seconds_later() -> None:
    found = starts((60.0, "scontrol requeue 0"))
    assert [job for job, _ in found] == list("01230")
    assert 181 <= found[-1][1] < 245  # in the next run of a loop for the whole queue


def test_a_job_that_ended_long_ago_does_not_run_again() -> None:
    assert order((60.0, "scontrol requeue 0"), more="MinJobAge=5") == "0123"


def test_a_running_job_gets_another_limit() -> None:
    """With a limit of one minute, the job is killed, and the small one would end after the start of the large one."""
    conf = "SchedulerParameters=bf_interval=5,bf_resolution=1"
    jobs = [
        StaticJob("0", 1.0, 1, DelayProfile(300.0), 600.0),
        StaticJob("1", 1.1, 2, DelayProfile(20.0), 60.0),
        StaticJob("2", 20.0, 1, DelayProfile(20.0), 300.0),
    ]

    def start_of_the_small_job(*commands: str) -> float:
        scheduler = SlurmScheduler(configuration_of(CONF.format(more=conf)))
        texts = [(10.0, json.dumps({"slurm": text})) for text in commands]
        events = [ExternalEventList.of(texts, corrected=True)] if texts else []
        simulate(described_platform("n[0-1] cores=1"), Workload(jobs), scheduler, external_events=events)
        return next(start.time for start in scheduler.starts if start.job_id.endswith("2"))

    assert start_of_the_small_job() < 40
    assert start_of_the_small_job("scontrol update JobId=0 TimeLimit=1") > 61
    assert start_of_the_small_job("scontrol update JobId=0 TimeLimit=-9") > 61
    assert start_of_the_small_job("scontrol update JobId=0 TimeLimit=1", "scontrol update JobId=0 TimeLimit=+9") < 40


@pytest.mark.parametrize("state", ["DOWN", "DRAIN"])
def test_operators_take_nodes_away_and_give_them_back(state: str) -> None:
    found = dict(
        starts(
            (25.0, f"scontrol update NodeName=n0 State={state}"),
            (90.0, "scontrol update NodeName=n0 State=RESUME"),
            jobs=3,
        )
    )
    assert found["0"] < 5
    assert found["2"] >= 90


@pytest.mark.parametrize("command", ["Nice=many", "Priority=1e9", "TimeLimit=soon", "Nice=" + "9" * 5000])
def test_a_command_with_a_wrong_value_has_no_effect(command: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert order((5.0, f"scontrol update JobId=1 {command}")) == "0123"
    assert "has no effect" in caplog.text


def test_a_job_that_was_cancelled_while_it_waited_runs_when_it_is_requeued() -> None:
    """As in a recorded run: it is as a job that ran, and waits for 121 s."""
    found = starts((5.0, "scancel 2"), (10.0, "scontrol requeue 2"))
    assert [job for job, _ in found[:3]] == ["0", "1", "3"]
    assert len(found) == 4
    assert found[-1][1] > 130
    assert [job for job, _ in starts((5.0, "scancel 2"))] == ["0", "1", "3"]


def test_scancel_knows_the_account_that_a_job_has_from_its_user() -> None:
    users = (
        "Cluster|Account|User|Par_Name|Share\nc|root|||1\nc|phys||root|1\nc|chem||root|1\nc|phys|ann||1\nc|chem|bob||1"
    )
    static = [
        StaticJob(str(number), 1 + number * 0.001, 2, DelayProfile(20.0), 600.0, json.dumps({"user": user}))
        for number, user in enumerate(("ann", "bob", "ann", "bob"))
    ]
    accounting = accounting_of([("associations", users)])
    scheduler = SlurmScheduler(configuration_of(CONF.format(more=DATABASE)), accounting=accounting)
    events = ExternalEventList.of([(5.0, json.dumps({"slurm": "scancel -A phys --state=PENDING"}))], corrected=True)
    simulate(described_platform("n[0-1] cores=1"), Workload(static), scheduler, external_events=[events])
    assert [start.job_id[-1] for start in scheduler.starts] == ["0", "1", "3"]


def attracted(*jobs: tuple[int, float], flags: str = "MAGNETIC") -> list[tuple[str, tuple[int, ...]]]:
    """The starts of jobs, given their nodes and minutes, of the user of a reservation of n1 and n2, of four nodes.

    They come one after the other, 3 s apart, and run for ten minutes. A job of another user comes last.
    """
    loops = "SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2"
    conf = f"{loops}\nNodeName=n[0-3]\nPartitionName=p Nodes=ALL"
    create = "scontrol create reservation ReservationName=m StartTime=now Duration=5 Users=ada Nodes=n[1-2]"
    events = ExternalEventList.of([(1.0, json.dumps({"slurm": f"{create} Flags={flags}"}))], corrected=True)
    rows = [(*each, "ada") for each in jobs] + [(1, 1.0, "bob")]
    static = [
        StaticJob(
            str(number),
            2.0 + 3 * number,
            nodes,
            DelayProfile(600.0),
            60 * minutes,
            json.dumps({"user": user, "partition": "p"}),
        )
        for number, (nodes, minutes, user) in enumerate(rows)
    ]
    scheduler = SlurmScheduler(configuration_of(conf))
    simulate(described_platform("n[0-3] cores=1"), Workload(static), scheduler, external_events=[events])
    return [(each.job_id.rpartition("!")[2], tuple(each.nodes)) for each in scheduler.starts if each.time < 30]


def test_a_magnetic_reservation_attracts_jobs_of_its_users_as_far_as_it_has_nodes() -> None:
    """A Slurm 22.05.8 started these jobs on n1, n[0,3] and n2, while the fourth one waited."""
    assert attracted((1, 1), (2, 1), (1, 9), (1, 9)) == [("0", (1,)), ("1", (0, 3)), ("2", (2,))]
    assert attracted((1, 1), (1, 1)) == [("0", (1,)), ("1", (2,)), ("2", (0,))]
    assert attracted((1, 1), (1, 1), flags="SPEC_NODES") == [("0", (0,)), ("1", (3,))]


@pytest.mark.parametrize(("wait", "start"), [(0, 6.0), (30, 16.0), (4, 10.0)])
def test_no_job_starts_while_the_nodes_of_another_are_not_clean(wait: int, start: float) -> None:
    """The nodes of job 0 are clean 10 s after its end at 5 s; job 1 could have other ones."""
    loops = "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1"
    conf = f"{loops}\nCompleteWait={wait}\nNodeName=n[0-1]\nPartitionName=p Nodes=ALL Default=YES"
    jobs = [StaticJob("0", 1.0, 1, DelayProfile(4.0), 600.0), StaticJob("1", 5.5, 1, DelayProfile(4.0), 600.0)]
    scheduler = SlurmScheduler(configuration_of(conf), Phases(epilog=10.0))
    simulate(described_platform("n[0-1] cores=1"), Workload(jobs), scheduler)
    assert scheduler.starts[1].time == pytest.approx(start, abs=1.1)


@pytest.mark.parametrize(("more", "started"), [("", {"1", "3", "5"}), (",bf_licenses", {"1", "4", "5"})])
def test_backfill_keeps_licences_for_jobs_that_wait(more: str, started: set[str]) -> None:
    """Backfill of a Slurm 22.05.8 started these jobs, and planned job 2 at the end of job 1 with bf_licenses."""
    asked = {1: (1, 3, "m:1"), 2: (1, 1, "m:2"), 3: (1, 10, "m:1"), 4: (1, 1, "m:1"), 5: (2, 10, "l:1")}
    jobs = [
        StaticJob(
            str(number),
            2.0 if number == 1 else 8.0 + 0.001 * number,
            nodes,
            DelayProfile(900.0),
            60.0 * minutes,
            json.dumps({"licenses": licenses, "partition": "p"}),
        )
        for number, (nodes, minutes, licenses) in asked.items()
    ]
    loops = f"SchedulerParameters=bf_interval=2,bf_resolution=1,batch_sched_delay=600,sched_interval=600{more}"
    conf = configuration_of(f"{loops}\nLicenses=m:2,l:2\nNodeName=n[0-5]\nPartitionName=p Nodes=ALL")
    scheduler = SlurmScheduler(conf)
    simulate(described_platform("n[0-5] cores=1"), Workload(jobs), scheduler)
    assert {each.job_id.rpartition("!")[2] for each in scheduler.starts if each.time < 30} == started


AGES = f"""
PriorityType=priority/multifactor
PriorityWeightAge=10000
PriorityMaxAge=0-0:10:0
PriorityCalcPeriod=1
Licenses=m:1
{DATABASE}
"""


def aged(
    *jobs: tuple[str, float, int, dict[str, object]],
    events: tuple[tuple[float, str], ...] = (),
    phases: Phases = USUAL,
) -> str:
    """The order in which jobs start that run for 100 s: given their ids, the seconds of submission, and their nodes."""
    static = [
        StaticJob(name, time, nodes, DelayProfile(100.0), 600.0, json.dumps({"user": "ann", **asked}))
        for name, time, nodes, asked in jobs
    ]
    conf = configuration_of(CONF.format(more=AGES))
    scheduler = SlurmScheduler(conf, phases, accounting=accounting_of([("qos", QOS)]))
    lists = [ExternalEventList.of([(time, json.dumps({"slurm": text})) for time, text in events], corrected=True)]
    simulate(described_platform("n[0-1] cores=1"), Workload(static), scheduler, external_events=lists if events else [])
    return "".join(start.job_id.rpartition("!")[2] for start in scheduler.starts)


def test_a_job_that_was_submitted_held_grows_older_from_its_release_on() -> None:
    held = ("a", 1.0, 2, {}), ("b", 2.0, 2, {"slurm": {"hold": True}}), ("c", 30.0, 2, {})
    assert aged(*held, events=((50.0, "scontrol release b"),)) == "acb"
    assert aged(*held, events=((10.0, "scontrol release b"),)) == "abc"


def test_jobs_grow_no_older_before_their_reservation_begins() -> None:
    """The second one is ten seconds younger, and its nice value is worth a second."""
    create = "scontrol create reservation ReservationName=r StartTime=now+{} Duration=60 Users=ann Licenses=m:1"
    jobs = [("a", 1.0, 2, {}), ("b", 2.0, 2, {"reservation": "r"}), ("c", 12.0, 2, {"reservation": "r", "nice": -20})]
    for begin, order in ((70, "acb"), (0, "bca")):
        assert aged(*jobs, events=((0.5, f"{create.format(begin)} Flags=LICENSE_ONLY"),)) == order


def test_tasks_age_since_the_time_that_is_known() -> None:
    tasks = [(str(task), 1.0 + task * 0.001, 1, {"array": f"x_{task}%2"}) for task in range(4)]
    assert aged(*tasks, ("b", 30.0, 1, {})) == "0123b"
    assert aged(*tasks, ("b", 30.0, 1, {}), phases=Phases(aging={"2": 92.0, "3": 92.0})) == "01b23"


def test_scancel_with_an_empty_account_chooses_no_job() -> None:
    assert order((5.0, "scancel --account= --partition=p")) == "0123"
    assert order((5.0, "scancel --partition=p --state=PENDING")) == "0"
