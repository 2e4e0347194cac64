"""Jobs that share hosts: whatever the policy, no host gives more than it has, and what jobs ask for is kept.

The checks look at the results only, and at what the jobs asked for.
`python tests/policies/test_sites.py > tests/data/policies/sites.txt` keeps the schedules of today, after a change that
is meant to change them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from random import Random
from typing import Any

import pytest
from support import DATA

from batprotocol.errors import InputError, SchedulerError
from batprotocol.model import DelayProfile, FinalJobState, ParallelTaskHomogeneousProfile, parse_hosts
from batprotocol.policies import EASY, Policy, PolicyNameError, SiteRules, named
from batprotocol.simulator import JobRow, Platform, Result, StaticJob, Workload, described_platform, simulate

WITHOUT_ENGINE = True

NAMES = [
    *(
        "fcfs",
        "greedy",
        "easy",
        "conservative",
        "reservations=3",
        "conservative=2+saf",
        "easy-sjf",
        "easy=laf,no-spare",
    ),
    *("easy=strict+pack", "easy=once+spread", "conservative+weight", "easy+best-fit", "wfp3+easy", "multifactor+easy"),
    *("predicted+easy", "easy+contiguous"),
]
HOSTS = "n[0-3] cores=8 memory=32G features=ib,fast weight=2; g[0-1] cores=16 memory=64G gres=gpu:2 features=ib"
PREEMPTION = [("requeue", "least"), ("requeue", "youngest"), ("checkpoint", "priority"), ("cancel", "least")]
RULES: dict[str, Any] = {
    "partitions": {
        "batch": {"hosts": "n[0-3],g[0-1]", "default": True, "tier": 1, "preempt": "requeue", "max_hosts": 4},
        "gpu": {"hosts": "g[0-1]", "tier": 2},
    },
    "per_user": {"running": 6},
}


def asked(random: Random, number: int) -> dict[str, Any]:
    """What a job asks for, by chance: each job could run alone."""
    data: dict[str, Any] = {"user": random.randint(0, 3)}
    if random.random() < 0.7:
        data["cores"] = random.randint(1, 8)
    if random.random() < 0.4:
        data["memory"] = f"{random.randint(1, 32)}G"
    if random.random() < 0.2:
        data |= {"gres": {"gpu": random.randint(1, 2)}, "partition": "gpu"}
    if random.random() < 0.15:
        data["constraint"] = random.choice(["ib", "fast|ib", "ib&!old", "ib*1"])
    if random.random() < 0.1:
        data["exclusive"] = True
    if random.random() < 0.15:
        data["begin"] = random.choice([f"now+{random.randint(1, 50)}", random.randint(0, 80)])
    if random.random() < 0.2 and number:
        kind = random.choice(["after", "afterany", "afterok", "afternotok", "afterok"])
        data["dependency"] = f"{kind}:{random.randrange(number)}"
    if random.random() < 0.1:
        data["array"] = f"a{number // 10}_{number}%2"
    if random.random() < 0.1:
        data["priority"] = random.randint(1, 3)
    return data


def jobs_of(seed: int, count: int = 60) -> list[StaticJob]:
    random = Random(seed)
    jobs = []
    for number in range(count):
        data = asked(random, number) if random.random() < 0.9 else {}
        run = float(random.randint(1, 30))
        walltime = random.choice([None, run + random.randint(1, 20), run + random.randint(1, 20), run])
        data_of = json.dumps(data) if data else None
        size = random.choice([1, 1, 2])
        at = float(random.randint(0, 60))
        jobs.append(StaticJob(str(number), at, size, DelayProfile(run), walltime=walltime, extra_data=data_of))
    return sorted(jobs, key=lambda job: (job.submission_time, job.id))


def needs_of(data: dict[str, Any], cores: int) -> tuple[int, int, int]:
    """Cores, GiB and GPUs that a job takes of a host with so many cores."""
    shares = any(key in data for key in ("cores", "memory", "gres", "tasks")) and not data.get("exclusive")
    gibibytes = int(str(data.get("memory", "0")).rstrip("G"))
    return data.get("cores", 1) if shares else cores, gibibytes, data.get("gres", {}).get("gpu", 0)


def first_id(row: JobRow) -> str:
    """The id under which a job was submitted, which may run again."""
    return row.job_id if row.workload_name == "w0" else row.job_id.removeprefix("w0-").partition("~")[0]


def checked(result: Result, platform: Platform, jobs: list[StaticJob]) -> None:
    """No host gives more than it has, and whatever a job asked for is kept."""
    data = {job.id: json.loads(job.extra_data or "{}") for job in jobs}
    hosts = {host.id: host for host in platform.hosts}
    ran = [row for row in result.jobs if row.starting_time is not None and row.finish_time is not None]
    capacity = {
        number: (host.cores, int(dict(host.properties)["memory"][:-1]), "gres" in dict(host.properties))
        for number, host in hosts.items()
    }
    changes: list[tuple[float, int, int, tuple[int, int, int]]] = []
    for row in ran:
        for number in parse_hosts(row.allocated_resources):
            taken = needs_of(data[first_id(row)], capacity[number][0])
            changes.append((row.starting_time, 1, number, taken))
            changes.append((row.finish_time, -1, number, taken))
    used = {number: [0, 0, 0] for number in hosts}
    for _, sign, number, taken in sorted(changes):
        for place, amount in enumerate(taken):
            used[number][place] += sign * amount
        cores, memory, has_gpus = capacity[number]
        assert used[number][0] <= cores
        assert used[number][1] <= memory
        assert used[number][2] <= 2 * has_gpus
    last = {first_id(row): row for row in ran}
    started = {first_id(row): row.starting_time for row in reversed(ran)}
    for row in ran:
        asks = data[first_id(row)]
        assert row.starting_time >= row.submission_time - 1e-6
        if asks.get("partition") == "gpu":
            assert set(parse_hosts(row.allocated_resources)) <= {4, 5}
        if asks.get("constraint") in ("fast",):
            assert set(parse_hosts(row.allocated_resources)) <= {0, 1, 2, 3}
        if isinstance(asks.get("begin"), int):
            assert row.starting_time >= asks["begin"] - 1e-3
        kind, _, other = asks.get("dependency", "").partition(":")
        if kind == "after":
            assert other not in started or started[other] <= row.starting_time + 1e-3
        elif kind:
            before = last.get(other)  # None: it was rejected
            assert before is None or before.finish_time <= row.starting_time + 1e-3
            succeeded = before is not None and before.final_state is FinalJobState.COMPLETED_SUCCESSFULLY
            assert kind == "afterany" or succeeded == (kind == "afterok")
    arrays: dict[str, list[tuple[float, int]]] = {}
    for row in ran:
        if array := data[first_id(row)].get("array"):
            steps = arrays.setdefault(array.partition("_")[0], [])
            steps += [(row.starting_time, 1), (row.finish_time, -1)]
    for steps in arrays.values():
        assert max(itertools.accumulate(change for _, change in sorted(steps))) <= 2


def run(name: str, jobs: list[StaticJob], rules: SiteRules | None = None) -> tuple[Result, Platform]:
    platform = described_platform(HOSTS)
    policy = named(name)() if rules is None else Policy(backfilling=EASY(), site=rules)
    result = simulate(platform, Workload(jobs, {}), policy)
    assert result.is_complete
    return result, platform


def without_partitions(jobs: list[StaticJob]) -> list[StaticJob]:
    """The same jobs for a platform that has no partitions."""
    kept = []
    for job in jobs:
        data = {key: value for key, value in json.loads(job.extra_data or "{}").items() if key != "partition"}
        changed = StaticJob(
            job.id,
            job.submission_time,
            job.resource_request,
            job.profile,
            walltime=job.walltime,
            extra_data=json.dumps(data),
        )
        kept.append(changed)
    return kept


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_no_host_gives_more_than_it_has(name: str, seed: int) -> None:
    jobs = without_partitions(jobs_of(seed))
    result, platform = run(name, jobs)
    checked(result, platform, jobs)


@pytest.mark.minutes
@pytest.mark.parametrize("name", NAMES)
def test_no_host_gives_more_than_it_has_in_many_simulations(name: str) -> None:
    for seed in range(100, 230):
        jobs = without_partitions(jobs_of(seed))
        result, platform = run(name, jobs)
        checked(result, platform, jobs)


def with_modes(mode: str, **more: Any) -> SiteRules:
    """Rules by which jobs of the first partition, or of a quality of service, give way."""
    first = RULES["partitions"]["batch"] | {"preempt": mode, "grace": 4, "default_time": 40, "max_time": 60}
    return SiteRules.of(RULES | {"partitions": RULES["partitions"] | {"batch": first}} | more)


KINDS = {
    **{name: (name, None) for name in NAMES},
    **{f"{name} with rules": (name, SiteRules.of(RULES)) for name in ("fcfs", "greedy", "easy", "conservative")},
    **{f"{mode}, {order}": ("easy", with_modes(mode, order_of_victims=order)) for mode, order in PREEMPTION},
    "conservative and preemption": ("conservative", with_modes("checkpoint")),
    "once and preemption": ("easy=once", with_modes("requeue")),
}
"""The kinds of planning whose schedules are known: the policy, and the rules."""


def digest(kind: str) -> str:
    """A schedule, in short: when and where each job started, and how it ended."""
    name, rules = KINDS[kind]
    rows = []
    for seed in (1, 2):
        jobs = jobs_of(seed, 40)
        policy = named(name)()
        policy = Policy(policy.order, policy.backfilling, policy.allocation, walltimes=policy.walltimes, site=rules)
        result = simulate(
            described_platform(HOSTS), Workload(without_partitions(jobs) if rules is None else jobs, {}), policy
        )
        assert result.is_complete
        rows += sorted(
            (row.job_id, row.final_state.name, row.starting_time or -1, str(row.allocated_resources))
            for row in result.jobs
        )
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


@pytest.mark.parametrize("kind", KINDS)
def test_schedules_are_those_that_are_known(kind: str) -> None:
    lines = (DATA / "policies" / "sites.txt").read_text().splitlines()
    assert len(lines) == len(KINDS)
    assert dict(line.split(": ") for line in lines)[kind] == digest(kind)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["requeue", "checkpoint", "cancel"])
@pytest.mark.parametrize("name", ["easy", "conservative", "reservations=3", "easy=once", "greedy"])
def test_all_jobs_run_where_some_give_way_after_a_while(name: str, mode: str) -> None:
    """The hosts of a job come later than planned, but it starts on them, whatever is reserved behind it."""
    for seed in (9, 11):
        jobs = jobs_of(seed)
        policy = Policy(named(name)().order, named(name)().backfilling, site=with_modes(mode))
        result = simulate(described_platform(HOSTS), Workload(jobs, {}), policy)
        assert result.is_complete
        checked(result, described_platform(HOSTS), jobs)


def test_an_allocation_in_a_row_is_one_for_jobs_that_share_hosts() -> None:
    jobs = [job("brief", 0, 1, 5, cores=4), job("long", 0, 1, 50, cores=4), job("row", 8, 2, 10, cores=4)]
    jobs.append(job("rows", 9, 5, 1, cores=4, constraint="!odd"))
    for name, expected in (("easy", "0 2"), ("easy+contiguous", "2-3"), ("easy+best-contiguous", "2-3")):
        platform = described_platform("n[0-3] cores=4; n4 cores=4 features=odd; n5 cores=4")
        rows = {row.job_id: row for row in simulate(platform, Workload(jobs, {}), named(name)()).jobs}
        assert rows["row"].allocated_resources == expected, name
        assert (rows["rows"].final_state is FinalJobState.REJECTED) == ("contiguous" in name)


@pytest.mark.parametrize("seed", range(6))
def test_partitions_limits_and_preemption_are_kept(seed: int) -> None:
    jobs = jobs_of(seed)
    result, platform = run("easy", jobs, SiteRules.of(RULES))
    checked(result, platform, jobs)
    users = {job.id: json.loads(job.extra_data or "{}").get("user") for job in jobs}
    steps: dict[Any, list[tuple[float, int]]] = {}
    for row in result.jobs:
        if row.starting_time is not None and row.finish_time is not None:
            steps.setdefault(users[first_id(row)], []).extend([(row.starting_time, 1), (row.finish_time, -1)])
    for changes in steps.values():
        assert max(itertools.accumulate(change for _, change in sorted(changes))) <= 6


def test_whole_hosts_are_planned_as_without_a_site() -> None:
    """Jobs that ask for hosts only, on a site whose rules are empty: the same starts, for each kind of backfilling."""
    random = Random(5)
    jobs = [
        StaticJob(
            str(number),
            float(random.randint(0, 900)),
            random.choice([1, 2, 3, 8]),
            DelayProfile(float(random.randint(5, 90))),
            walltime=100.0,
        )
        for number in range(120)
    ]
    jobs.sort(key=lambda job: (job.submission_time, job.id))
    for name in ("fcfs", "easy", "greedy", "easy-sjf", "saf+greedy"):
        plain = named(name)()
        sites = Policy(plain.order, plain.backfilling, site=SiteRules())
        results = [simulate(Platform.homogeneous(8), Workload(jobs, {}), policy) for policy in (named(name)(), sites)]
        starts = [{row.job_id: row.starting_time for row in result.jobs} for result in results]
        assert starts[0] == pytest.approx(starts[1], abs=1e-2), name


def test_the_first_job_starts_no_later_than_its_reservation() -> None:
    """EASY: other jobs do not delay the head of the queue, also where they share its hosts for longer."""
    jobs = [
        StaticJob("runs", 0.0, 1, DelayProfile(100.0), walltime=100.0, extra_data='{"cores": 6}'),
        StaticJob("head", 1.0, 2, DelayProfile(50.0), walltime=50.0, extra_data='{"cores": 8}'),
        StaticJob("long", 2.0, 1, DelayProfile(500.0), walltime=500.0, extra_data='{"cores": 2}'),
        StaticJob("short", 3.0, 1, DelayProfile(90.0), walltime=90.0, extra_data='{"cores": 2}'),
        StaticJob("wide", 4.0, 1, DelayProfile(500.0), walltime=500.0, extra_data='{"cores": 8}'),
    ]
    platform = described_platform("n[0-1] cores=8")
    result = simulate(platform, Workload(jobs, {}), named("easy")())
    starts = {row.job_id: row.starting_time for row in result.jobs}
    assert starts["head"] == pytest.approx(100, abs=0.1)
    assert starts["short"] == pytest.approx(3, abs=0.1)
    assert starts["long"] == pytest.approx(150, abs=0.1)
    # With a third host, the head starts on the two that are free, and the long job beside the first one.
    result = simulate(described_platform("n[0-2] cores=8"), Workload(jobs, {}), named("easy")())
    starts = {row.job_id: row.starting_time for row in result.jobs}
    assert starts["head"] == pytest.approx(1, abs=0.1)
    assert starts["long"] == pytest.approx(2, abs=0.1)


def job(name: str, at: float, size: int, time: float, **data: Any) -> StaticJob:
    return StaticJob(
        name, at, size, DelayProfile(time), walltime=time + 20, extra_data=json.dumps(data) if data else None
    )


@pytest.mark.parametrize("name", ["easy", "conservative", "reservations=2"])
@pytest.mark.parametrize("data", [{"partition": "high"}, {"priority": 1}, {"nice": -1}])
def test_a_reservation_does_not_delay_a_job_of_a_higher_tier_or_priority(name: str, data: dict[str, Any]) -> None:
    """As in Slurm: the job that comes later has its turn first, though the other one had a reservation by then."""
    partitions = {"low": {"hosts": "ALL", "default": True}, "high": {"hosts": "ALL", "tier": 2}}
    jobs = [
        StaticJob("runs", 0.0, 1, DelayProfile(50.0), walltime=100.0, extra_data='{"cores": 4}'),
        job("waits", 1, 1, 60, cores=4),
        job("first", 2, 1, 60, cores=4, **data),
    ]
    policy = Policy(backfilling=named(name)().backfilling, site=SiteRules.of({"partitions": partitions}))
    result = simulate(described_platform("n0 cores=4"), Workload(jobs, {}), policy)
    starts = {row.job_id: row.starting_time for row in result.jobs}
    assert starts == pytest.approx({"runs": 0, "first": 50, "waits": 110}, abs=0.1)


@pytest.mark.parametrize(
    ("mode", "grace", "begins", "again"),
    [
        ("requeue", 0, 30, 100),
        ("requeue", 20, 50, 100),
        ("checkpoint", 0, 30, 70),
        ("checkpoint", 20, 50, 50),
        ("cancel", 0, 30, None),
        ("cancel", 20, 50, None),
    ],
)
def test_jobs_of_a_lower_tier_give_way(mode: str, grace: int, begins: int, again: int | None) -> None:
    tables = {
        "low": {"hosts": "n[0-3]", "tier": 1, "preempt": mode, "grace": grace, "default": True},
        "high": {"hosts": "ALL", "tier": 2},
    }
    jobs = [*(job(str(number), 0, 1, 100, cores=4) for number in range(4)), job("big", 30, 2, 50, partition="high")]
    policy = Policy(backfilling=EASY(), site=SiteRules.of({"partitions": tables}))
    result = simulate(described_platform("n[0-3] cores=4"), Workload(jobs, {}), policy)
    assert result.is_complete
    rows = {row.job_id: row for row in result.jobs}
    assert rows["big"].starting_time == pytest.approx(begins, abs=0.1)
    killed = [row.job_id for row in result.jobs if row.final_state is FinalJobState.COMPLETED_KILLED]
    assert killed == ["0", "1"]  # as few as make room, and none of the others
    lives = [row for row in result.jobs if row.workload_name == "again"]
    assert [row.job_id for row in lives] == ([] if again is None else ["w0-0~1", "w0-1~1"])
    for row in lives:
        assert row.execution_time == pytest.approx(again, abs=0.1)


def test_a_site_opens_with_the_first_job_that_needs_it() -> None:
    jobs = [job("whole", 0, 2, 100), job("waits", 1, 4, 10), job("shares", 50, 1, 10, cores=1), job("later", 51, 1, 10)]
    policy = named("easy")()
    result = simulate(described_platform("n[0-3] cores=4"), Workload(jobs, {}), policy)
    starts = {row.job_id: row.starting_time for row in result.jobs}
    assert result.is_complete
    assert policy.site is not None
    assert [each.job_id for each in policy.allocated] == ["w0!whole", "w0!shares", "w0!later", "w0!waits"]
    assert starts["shares"] == pytest.approx(50, abs=0.1)
    assert starts["waits"] == pytest.approx(100, abs=0.1)


@pytest.mark.parametrize("name", ["easy", "easy+shared=2"])
def test_hosts_that_are_shared_on_purpose_are_no_warning(name: str, caplog: pytest.LogCaptureFixture) -> None:
    cores = None if "shared" in name else 2
    jobs = [job(str(number), 0, 1, 10, **({} if cores is None else {"cores": cores})) for number in range(4)]
    result = simulate(described_platform("n[0-1] cores=4"), Workload(jobs, {}), named(name)())
    assert result.makespan < 11, "they shared hosts"
    assert caplog.text == ""


def test_tasks_are_executors_on_their_hosts() -> None:
    work = ParallelTaskHomogeneousProfile(8e9, 0.0)
    data = '{"tasks": 8, "cores": 1, "per": "task"}'
    jobs = [StaticJob("t", 0.0, 2, work, walltime=100.0, extra_data=data)]
    result = simulate(described_platform("n[0-1] cores=4"), Workload(jobs, {}), named("easy")())
    assert result.is_complete
    [row] = result.jobs
    assert str(row.allocated_resources) == "0-1"
    assert row.execution_time == pytest.approx(8.0, rel=1e-3)  # 8e9 flops for each of eight tasks, on a core each


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"partitions": {"p": {"hosts": "x[0-1]"}}}, "partitions.p.hosts: the platform has no host 'x0'"),
        ({"partitions": {"p": {}}}, "partitions.p: the partition has no hosts"),
        (
            {"partitions": {"p": {"max_time": "soon"}}},
            "partitions.p.max_time: expected seconds as a number, or a time such as",
        ),
        ({"partitions": {"p": {"colour": 1}}}, "partitions.p: there is no key 'colour'"),
        ({"accounts": {"a": {"shares": -1}}}, "accounts.a.shares: expected `float` >= 0.0, got -1"),
        ({"accounts": {"a": {"parent": "phy"}, "phys": {}}}, "accounts.a.parent: there is no account 'phy'; did you"),
        ({"priority": {"weigth_age": 1}}, "priority: there is no key 'weigth_age'; did you mean 'weight_age'?"),
        ({"priority": {"max_age": 0}}, "priority.max_age: expected `float` > 0.0, got 0"),
        ({"priority": {"weight_tres": "CPUs=1"}}, "priority.weight_tres: there is no resource 'CPUs'; did you mean"),
        ({"priority": {"weight_tres": {"cpu": "1G"}}}, "priority.weight_tres.cpu: expected a number >= 0, got '1G'"),
        ({"priority": {"tres_billing_weights": 1}}, "priority.tres_billing_weights: expected a table, or a text such"),
        ({"qos": {"a": {"preempts": ["b"]}}}, "qos.a.preempts: there is no quality of service 'b'"),
        ({"accounts": {"a": {"parent": "a"}}}, "accounts.a.parent: account 'a' is above itself"),
    ],
)
def test_rules_that_cannot_be_are_refused(tables: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(described_platform("n[0-1]"), Workload([job("1", 0, 1, 1)], {}), Policy(site=SiteRules.of(tables)))
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("data", "size", "sentence"),
    [
        ({"partition": "nowhere"}, 1, "there is no partition 'nowhere'"),
        ({"memory": "1T"}, 1, "no host has 1024 GiB"),
        ({"dependency": "afterok:1"}, 1, "it waits for itself: w0!1 -> w0!1"),
        ({"deadline": 5}, 1, "it would end at 30 s at the earliest, and its deadline is 5 s"),
        ({"reservation": "r"}, 1, "it asks for the reservation 'r', and there is none of that name"),
        ({"cores": "many"}, 1, "cores: expected a whole number >= 1, got 'many'"),
        ({"cores": 1, "contiguous": True}, 3, "no 3 hosts have together what it asks for"),
    ],
)
def test_a_job_that_can_never_run_is_rejected(
    data: dict[str, Any], size: int, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    platform = described_platform("n[0-1] cores=4 memory=8G; m0 cores=1 memory=8G; n3 cores=4 memory=8G")
    if data.get("contiguous"):
        data = data | {"cores": 4}
    result = simulate(platform, Workload([job("1", 0, size, 10, **data)], {}), named("easy")())
    assert [row.final_state for row in result.jobs] == [FinalJobState.REJECTED]
    assert sentence in caplog.text


def test_parts_that_do_not_know_shared_hosts_say_so() -> None:
    names = {"zones": "zones", "easy+keep": "keep", "shared=2": "shared", "easy+each": "each"}
    names |= {"each+zones": "zones", "off=60+keep": "keep"}
    for name, part in names.items():
        with pytest.raises(SchedulerError, match=f"^{part} does not know jobs that share hosts: use another part"):
            simulate(described_platform("n0 cores=4"), Workload([job("1", 0, 1, 1, cores=1)], {}), named(name)())
    with pytest.raises(PolicyNameError, match=r"cannot read 'Nowhere\.toml': No such file"):
        named("easy+site=Nowhere.toml")


def test_rules_come_from_a_file(tmp_path: Any) -> None:
    path = tmp_path / "Site.toml"
    path.write_text('[partitions.batch]\nhosts = "ALL"\nmax_time = "1:00"\n')
    policy = named(f"easy+site={path}")()
    assert policy.rules is not None
    assert policy.rules.partitions["batch"].max_time == 60.0
    for text in ("[partitions", f"a = {'[' * 100_000}", f"a = {'1' * 5000}"):
        path.write_text(text)
        with pytest.raises(PolicyNameError, match="expected TOML"):
            named(f"easy+site={path}")
    assert math.isinf(SiteRules.of({"partitions": {"p": {"max_time": "UNLIMITED"}}}).partitions["p"].max_time)


if __name__ == "__main__":
    for each in KINDS:
        print(f"{each}: {digest(each)}")
