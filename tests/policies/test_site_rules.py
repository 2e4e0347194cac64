"""The rules of a site: each limit is kept and reached, each refusal has its sentence, and times are those of Slurm."""

from __future__ import annotations

import itertools
import math
from typing import Any

import msgspec
import pytest

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, FinalJobState
from batprotocol.policies import EASY, SJF, Conservative, Greedy, NoBackfilling, Policy, SiteRules
from batprotocol.policies.backfilling import PlanSettings, Reservations, settings_of
from batprotocol.policies.site.rules import Account, Limits, Partition, Qos, seconds_of
from batprotocol.simulator import JobRow, StaticJob, Workload, described_platform, simulate

WITHOUT_ENGINE = True


def job(
    name: str, at: float = 0.0, size: int = 1, time: float = 10.0, walltime: float | None = 20.0, **data: Any
) -> StaticJob:
    text = msgspec.json.encode(data).decode() if data else None
    return StaticJob(name, at, size, DelayProfile(time), walltime=walltime, extra_data=text)


def run(jobs: list[StaticJob], tables: dict[str, Any], hosts: str = "n[0-39] cores=8 gres=gpu:4") -> dict[str, JobRow]:
    policy = Policy(backfilling=Greedy(), site=SiteRules.of(tables))
    result = simulate(described_platform(hosts), Workload(jobs, {}), policy)
    assert result.is_complete
    return {row.job_id: row for row in result.jobs}


def starts(rows: dict[str, JobRow]) -> dict[str, int | None]:
    """The second in which each job starts; None if it was rejected."""
    return {name: None if row.starting_time is None else int(row.starting_time) for name, row in rows.items()}


SCOPES: list[tuple[str, Any, str]] = [
    # the place of the limits, the jobs to which they apply together, and the name of the scope
    ("limits", lambda data: True, "all jobs"),
    ("per_user", lambda data: data["user"] == "u", "user u"),
    ("qos.q.limits", lambda data: data["qos"] == "q", "QOS q"),
    ("qos.q.per_user", lambda data: (data["qos"], data["user"]) == ("q", "u"), "QOS q, user u"),
    ("qos.q.per_account", lambda data: (data["qos"], data["account"]) == ("q", "low"), "QOS q, account low"),
    ("accounts.top.limits", lambda data: data["account"] in ("top", "low"), "account top"),
    ("accounts.low.limits", lambda data: data["account"] == "low", "account low"),
    ("accounts.low.per_user", lambda data: (data["account"], data["user"]) == ("low", "u"), "account low, user u"),
]


def limited(place: str, limits: dict[str, int]) -> dict[str, Any]:
    """Rules that have these limits in one place."""
    tables: dict[str, Any] = {
        "qos": {"q": {}, "r": {}},
        "accounts": {"top": {}, "low": {"parent": "top"}, "other": {}},
    }
    table = tables
    for key in place.split("."):
        table = table.setdefault(key, {})
    table |= limits
    return tables


OWN: dict[str, Any] = {"user": "u", "account": "low", "qos": "q", "cores": 2, "gres": {"gpu": 1}}


def most_at_a_time(rows: dict[str, JobRow], names: set[str]) -> int:
    changes = [
        change
        for name in names
        for change in ((rows[name].starting_time, 1), (rows[name].finish_time, -1))
        if change[0] is not None
    ]
    return max(itertools.accumulate(by for _, by in sorted(changes)))


@pytest.mark.parametrize(
    ("place", "belongs", "scope"), SCOPES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_limit_is_kept_and_reached_by_the_jobs_of_its_scope_alone(place: str, belongs: Any, scope: str) -> None:
    kinds = itertools.product("uv", ["low", "top", "other"], "qr")
    asked: list[dict[str, Any]] = [OWN | {"user": user, "account": account, "qos": qos} for user, account, qos in kinds]
    jobs = [job(f"{number}-{copy}", **data) for number, data in enumerate(asked) for copy in range(3)]
    own = {
        each.id for each, data in zip(jobs, [data for data in asked for _ in range(3)], strict=True) if belongs(data)
    }
    if place == "per_user":  # each user has that limit
        own = {
            each.id
            for each, data in zip(jobs, [data for data in asked for _ in range(3)], strict=True)
            if data["user"] == "u"
        }
    for limits in ({"running": 2}, {"hosts": 2}, {"cores": 4}, {"cores": 5}, {"gpus": 2}):
        rows = run(jobs, limited(place, limits))
        assert most_at_a_time(rows, own) == 2, limits
        assert all(row.final_state is FinalJobState.COMPLETED_SUCCESSFULLY for row in rows.values())
        if place not in ("limits", "per_user", "qos.q.per_user", "qos.q.per_account", "accounts.low.per_user"):
            assert {start for name, start in starts(rows).items() if name not in own} == {0}


@pytest.mark.parametrize("place", [place for place, _, _ in SCOPES])
@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"running": 0}, "it asks for 1 jobs, and {} can have 0"),
        ({"hosts": 2}, "it asks for 3 hosts, and {} can have 2"),
        ({"cores": 5}, "it asks for 6 cores, and {} can have 5"),
        ({"gpus": 2}, "it asks for 3 GPUs, and {} can have 2"),
        ({"waiting": 0}, "0 jobs of {} wait already"),
    ],
)
def test_what_no_limit_allows_is_rejected(
    place: str, limits: dict[str, int], sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    scope = next(scope for other, _, scope in SCOPES if other == place)
    assert starts(run([job("1", size=3, **OWN)], limited(place, limits))) == {"1": None}
    assert sentence.format(scope) in caplog.text
    [(key, most)] = limits.items()
    enough = {key: {"running": 1, "hosts": 3, "cores": 6, "gpus": 3, "waiting": 1}[key]}
    assert most < enough[key]
    assert starts(run([job("1", size=3, **OWN)], limited(place, enough))) == {"1": 0}


def test_jobs_that_wait_are_counted_until_they_start_or_are_rejected() -> None:
    tables = {"per_user": {"waiting": 2, "running": 1}}
    jobs = [job("runs", 0, user=1), *(job(f"early{number}", 1, user=1) for number in range(3)), job("other", 1, user=2)]
    jobs += [job(f"late{number}", 12, user=1) for number in range(2)]
    rows = starts(run(jobs, tables, "n[0-9]"))
    assert rows == {"runs": 0, "early0": 10, "early1": 20, "early2": None, "other": 1, "late0": 30, "late1": None}
    rows = starts(run([job("past", user=1, deadline=1, cores=1), job("1", 1, user=1), job("2", 1, user=1)], tables))
    assert rows == {"past": None, "1": 1, "2": 11}


def test_as_many_tasks_of_an_array_run_as_it_says() -> None:
    jobs = [job(f"{array}{task}", array=f"{array}_{task}%2") for array in "ab" for task in range(3)]
    assert starts(run(jobs, {})) == {"a0": 0, "a1": 0, "a2": 10, "b0": 0, "b1": 0, "b2": 10}
    assert set(starts(run([job(str(task), array=f"a_{task}") for task in range(5)], {})).values()) == {0}


PARTITION = {
    "hosts": "n[0-7]",
    "default": True,
    "max_time": 100,
    "min_hosts": 2,
    "max_hosts": 4,
    "allow_accounts": ["a", "b"],
    "allow_groups": ["7"],
    "allow_qos": ["q"],
}


@pytest.mark.parametrize(
    ("size", "walltime", "data", "sentence"),
    [
        (2, 100.0, {}, None),
        (4, None, {"account": "b"}, None),
        (2, 101.0, {}, "its walltime is 101 s, and partition p allows 100 s"),
        (1, 50.0, {}, "it asks for 1 hosts, and partition p takes jobs of 2 or more"),
        (5, 50.0, {}, "it asks for 5 hosts, and partition p allows 4"),
        (2, 50.0, {"account": "c"}, "partition p is for account a, b, and its account is c"),
        (2, 50.0, {"group": 8}, "partition p is for group 7, and its group is 8"),
        (2, 50.0, {"qos": None}, "partition p is for QOS q, and its QOS is None"),
        (2, 50.0, {"partition": "r"}, "there is no partition 'r'; there are o, p"),
        (
            2,
            50.0,
            {"partition": "o", "memory": "2G"},
            "it asks for 2 hosts of partition o, and 1 of them have what it asks for",
        ),
        (
            2,
            50.0,
            {"partition": "o", "contiguous": True, "cores": 8},
            "no 2 hosts of partition o have together what it asks for",
        ),
        (2, 50.0, {"partition": "o,p", "memory": "2G"}, None),
        (0, 50.0, {}, "it asks for 0 hosts, and needs one at least"),
        (9, 50.0, {"partition": "o"}, "it asks for 9 hosts of partition o, and 2 of them have what it asks for"),
        (13, 50.0, {"partition": "o"}, "it asks for 13 hosts, and there are 12"),
    ],
)
def test_partitions_take_jobs_that_their_rules_allow(
    size: int, walltime: float | None, data: dict[str, Any], sentence: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    tables = {"partitions": {"p": PARTITION, "o": {"hosts": "n8,m0"}}}
    asks: dict[str, Any] = {
        key: value for key, value in ({"account": "a", "group": 7, "qos": "q"} | data).items() if value is not None
    }
    hosts = "n[0-8] cores=8 memory=4G; x0; m[0-1] cores=8 memory=1G"
    rows = run([job("1", size=size, walltime=walltime, **asks)], tables, hosts)
    assert (starts(rows)["1"] is None) == (sentence is not None), caplog.text
    assert sentence is None or sentence in caplog.text


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"qos": "x"}, "there is no QOS 'x'; there are q, r"),
        ({"account": "x"}, "there is no account 'x'; there are low, other, top"),
        ({"cores": 1}, None),
        ({"qos": "r", "account": "top"}, None),
    ],
)
def test_names_that_the_rules_do_not_have(
    data: dict[str, Any], sentence: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    assert starts(run([job("1", **data)], limited("limits", {}))) == {"1": None if sentence else 0}
    assert sentence is None or sentence in caplog.text
    assert starts(run([job("1", **data)], {})) == {"1": 0}  # without such rules, names are not checked


def test_jobs_that_name_no_partition_are_in_the_default_one() -> None:
    jobs = [job(str(number), cores=1, exclusive=True) for number in range(4)]
    hosts = "n[0-1] partitions=a; n[2-3] partitions=b"
    for default, expected in (("a", "01"), ("b", "23"), (None, "0123")):
        tables = {name: {"default": name == default} for name in "ab"}
        rows = run(jobs, {"partitions": tables}, hosts)
        assert "".join(sorted({str(row.allocated_resources) for row in rows.values()})) == expected
    only = run([*jobs, job("4", partition="a")], {}, "n[0-1] partitions=a; n[2-3]")  # there is no other one
    assert {str(row.allocated_resources) for row in only.values()} == {"0", "1"}


def test_a_partition_that_is_exclusive_shares_no_host() -> None:
    for exclusive, expected in ((False, [0, 0]), (True, [0, 10])):
        jobs = [job(str(number), cores=1) for number in range(2)]
        tables = {"partitions": {"p": {"hosts": "ALL", "exclusive": exclusive}}}
        assert list(starts(run(jobs, tables, "n0 cores=8")).values()) == expected


def test_higher_tiers_and_priorities_come_first() -> None:
    tables = {"partitions": {"low": {"hosts": "ALL", "default": True}, "high": {"hosts": "all", "tier": 2}}}
    jobs = [
        job("runs", 0),
        job("nice", 1, nice=1),
        job("usual", 2),
        job("first", 3, priority=2),
        job("tier", 4, partition="high"),
    ]
    policy = Policy(site=SiteRules.of(tables))
    result = simulate(described_platform("n0"), Workload(jobs, {}), policy)
    order = sorted((row.starting_time, row.job_id) for row in result.jobs)
    assert [name for _, name in order] == ["runs", "tier", "first", "usual", "nice"]


@pytest.mark.parametrize(
    ("data", "begins", "is_rejected"),
    [
        ({"begin": 30}, 30, False),
        ({"begin": "now+7"}, 12, False),
        ({"begin": 1}, 5, False),
        ({"deadline": 25.5}, 5, False),
        ({"deadline": 24}, 0, True),
        ({"begin": 30, "deadline": 50.5}, 30, False),
        ({"begin": 30, "deadline": 49}, 0, True),
        ({"begin": 2**50}, 0, True),
        ({"begin": f"now+{10**12 - 1}weeks"}, 0, True),
    ],
)
def test_jobs_begin_at_their_time_or_miss_their_deadline(data: dict[str, Any], begins: int, is_rejected: bool) -> None:
    rows = run([job("1", 5.0, **data)], {}, "n0")
    assert starts(rows) == {"1": None if is_rejected else begins}


def test_a_job_that_can_never_begin_or_excludes_all_hosts_has_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    rows = run(
        [job("late", begin=2**51), job("out", exclude="n[0-1]"), job("c", exclude="n[0-1]", cores=1)], {}, "n[0-1]"
    )
    assert starts(rows) == {"late": None, "out": None, "c": None}
    assert "it begins at 2.2518e+15 s, and no job starts after 2^50 s" in caplog.text
    assert "all hosts are excluded" in caplog.text
    assert "no host has 1 cores and is not excluded" in caplog.text


def test_a_quality_of_service_has_a_longest_walltime(caplog: pytest.LogCaptureFixture) -> None:
    jobs = [
        job("long", qos="q", walltime=21.0),
        job("just", qos="q", walltime=20.0),
        job("none", qos="q", walltime=None),
    ]
    assert starts(run(jobs, {"qos": {"q": {"max_time": 20}}})) == {"long": None, "just": 0, "none": 0}
    assert "its walltime is 21 s, and QOS q allows 20 s" in caplog.text


def test_a_job_that_waits_too_long_for_its_deadline_is_rejected() -> None:
    jobs = [job("runs", 0, time=60, walltime=60), job("late", 1, deadline=79), job("just", 1, deadline=80.5)]
    assert starts(run(jobs, {}, "n0")) == {"runs": 0, "late": None, "just": 60}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("30", 1800),
        ("2:05", 125),
        ("1:02:03", 3723),
        ("2-3", 2 * 86400 + 3 * 3600),
        ("2-3:04", 2 * 86400 + 3 * 3600 + 240),
        ("2-3:04:05", 2 * 86400 + 3 * 3600 + 245),
        ("unlimited", math.inf),
        ("INFINITE", math.inf),
        ("-1", math.inf),
    ],
)
def test_times_are_those_of_slurm(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds
    rules = SiteRules.of({"partitions": {"p": {"grace": 3, "max_time": text, "default_time": text}}})
    assert rules.partitions["p"].max_time == rules.partitions["p"].default_time == seconds


@pytest.mark.parametrize("text", ["", "x", "1:", "1-", "1:2:3:4", "1.5", "1:234"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="max_time: expected seconds as a number, or a time such as '1-12:00:00'"):
        SiteRules.of({"qos": {"q": {"max_time": text}}})


@pytest.mark.parametrize(
    ("tables", "path"),
    [
        ({"accounts": {"a": {"parent": "b"}}}, "accounts.a.parent: there is no account 'b'"),
        (
            {"accounts": {"a": {"parent": "b"}, "b": {"parent": "c"}, "c": {"parent": "a"}}},
            "accounts.a.parent: account 'a'",
        ),
        (
            {"partitions": {name: {"default": True} for name in "ab"}},
            "partitions: expected one default partition at most",
        ),
        ({"partitions": {"p": {"tier": -1}}}, "partitions.p.tier: expected `int` >= 0"),
        ({"qos": {"q": {"preempt": "stop"}}}, "qos.q.preempt: invalid enum value 'stop'"),
        ({"limits": {"running": -1}}, "limits.running: expected `int` >= 0"),
        ({"order_of_victims": "oldest"}, "order_of_victims: invalid enum value 'oldest'"),
        ({"colour": 1}, "there is no key 'colour'"),
    ],
)
def test_tables_that_cannot_be_are_refused_with_their_place(tables: dict[str, Any], path: str) -> None:
    with pytest.raises(InputError) as caught:
        SiteRules.of(tables)
    assert str(caught.value).startswith(path)
    fine = {"a": {"parent": "b"}, "b": {"parent": "c"}, "c": {}}
    assert SiteRules.of({"accounts": fine, "partitions": {"p": {"default": True}}}).accounts["c"].parent is None


TIMES = ["partitions.p.max_time", "partitions.p.default_time", "partitions.p.grace", "qos.q.max_time", "qos.q.grace"]
TIMES += ["priority.decay_half_life", "priority.calc_period"]
WEIGHTS = ["partitions.p.priority", "qos.q.priority", "qos.q.usage_factor", "accounts.a.shares", "accounts.a.users.u"]
COUNTS = ["partitions.p.tier", "partitions.p.min_hosts", "partitions.p.max_hosts"]
COUNTS += [f"{scope}.{what}" for scope in ("limits", "qos.q.per_user") for what in Limits.__struct_fields__]


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        *((key, (-1, -0.5, math.nan, -math.inf)) for key in TIMES),
        *((key, (math.inf, 1e300)) for key in TIMES if key.endswith("grace")),
        *((key, (-1, -0.5, math.nan, math.inf, 1e300)) for key in WEIGHTS),
        *((key, (-1, 0.5, 10**30)) for key in COUNTS),
    ],
)
def test_values_that_nothing_can_be_are_refused_with_their_key(key: str, wrong: tuple[float, ...]) -> None:
    *path, name = key.split(".")
    tables: dict[str, Any] = {}
    table = tables
    for each in path:
        table = table.setdefault(each, {})
    for value in wrong:
        table[name] = value
        with pytest.raises(InputError) as caught:
            SiteRules.of(tables)
        assert str(caught.value).startswith(f"{key}: expected `")
        assert str(caught.value).endswith(f", got {value!r}") or "`, got `float`" in str(caught.value)
    table[name] = 3
    SiteRules.of(tables)


@pytest.mark.parametrize(("low", "high"), [("default_time", "max_time"), ("min_hosts", "max_hosts")])
def test_values_that_contradict_each_other_are_refused(low: str, high: str) -> None:
    with pytest.raises(InputError) as caught:
        SiteRules.of({"partitions": {"p": {low: 6, high: 5}}})
    assert str(caught.value) == f"partitions.p.{low}: expected at most {high} = 5, got 6"
    assert SiteRules.of({"partitions": {"p": {low: 5, high: 5}, "o": {low: 6}, "n": {high: 5}}}).partitions["p"]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (
            {"hosts": "n[0"},
            "reservations.r.hosts: expected names such as 'n[0-63]', got 'n[0': its brackets do not match",
        ),
        ({"begin": 5, "end": 5}, "reservations.r.end: expected a time after the begin, 5, got 5"),
        ({"begin": "x"}, "reservations.r.begin: expected seconds as a number, or a time such as '1-12:00:00', got 'x'"),
        ({"user": ["a"]}, "reservations.r: there is no key 'user'; did you mean 'users'?"),
        ({"hosts": "m0"}, "reservations.r.hosts: the platform has no host 'm0'"),
        ({"hosts": "n[1-2]", "begin": 9}, "reservations.r: it overlaps with the window 'o' from 5 to 10 on hosts 1"),
    ],
)
def test_reservations_that_cannot_be_are_refused_with_their_place(table: dict[str, Any], sentence: str) -> None:
    other = {"hosts": "n[0-1]", "begin": 5, "end": 10}
    with pytest.raises(InputError) as caught:
        run([job("a")], {"reservations": {"r": table, "o": other}})
    assert str(caught.value) == sentence


def test_reservations_are_for_their_users_alone() -> None:
    """Until 30 s, host 0 is for u, and host 1 for nobody. Then both are for all."""
    tables = {"o": {"hosts": "n0", "end": 30, "users": ["u", 7]}, "m": {"hosts": "n1", "end": 30, "maintenance": True}}
    jobs = [job("a", reservation="o", user="u"), job("b", user="u"), job("c", reservation="o", user="v")]
    rows = run(
        [*jobs, job("d", 10, reservation="o", user="7"), job("e", reservation="m")], {"reservations": tables}, "n[0-1]"
    )
    assert starts(rows) == {"a": 0, "b": 30, "c": None, "d": 10, "e": None}


def test_names_of_hosts_that_cannot_be_read_are_refused_with_their_place() -> None:
    with pytest.raises(InputError) as caught:
        SiteRules.of({"partitions": {"p": {"hosts": ""}}})
    assert str(caught.value) == "partitions.p.hosts: expected names such as 'n[0-63]', got ''"


@pytest.mark.parametrize(
    ("tables", "can"),
    [
        ({}, False),
        ({"partitions": {"p": {}}, "qos": {"q": {}}}, False),
        ({"partitions": {"p": {}, "o": {"preempt": "cancel"}}}, True),
        ({"qos": {"q": {}, "r": {"preempts": ["q"]}}}, True),
    ],
)
def test_preemption_is_possible_where_a_rule_names_it(tables: dict[str, Any], can: bool) -> None:
    assert SiteRules.of(tables).can_preempt == can


@pytest.mark.parametrize("table", [Limits, Partition, Qos, Account, SiteRules])
def test_tables_take_keywords_and_stay_as_they_are(table: Any) -> None:
    first = table.__struct_fields__[0]
    made = table()
    assert table(**{first: getattr(made, first)}) == made
    with pytest.raises(TypeError):
        table(getattr(made, first))
    with pytest.raises(AttributeError):
        setattr(made, first, None)
    # By default, nothing is limited, and nothing gives way.
    for key in ("running", "waiting", "hosts", "cores", "gpus", "max_hosts", "parent", "default_time"):
        assert getattr(made, key, None) is None
    assert getattr(made, "max_time", math.inf) == math.inf
    assert (getattr(made, "grace", 0), getattr(made, "min_hosts", 0), getattr(made, "default", False)) == (0, 0, False)
    for key in ("tier", "shares", "usage_factor"):
        assert getattr(made, key, 1) == 1
    assert not getattr(made, "exclusive", False)


def test_the_kinds_of_backfilling_are_settings_of_one_plan() -> None:
    order = SJF()
    assert settings_of(NoBackfilling()) == PlanSettings(0, False, None, True, False, False, False)
    assert settings_of(Greedy(order)) == PlanSettings(0, True, order)
    assert settings_of(Reservations(3, order)) == PlanSettings(3, True, order)
    assert settings_of(Conservative()) == PlanSettings(math.inf, True)
    assert settings_of(Conservative(4)) == PlanSettings(4, True)
    assert settings_of(EASY(order)) == PlanSettings(1, True, order, True, True, False, False)
    assert settings_of(EASY(spare=False, strict=True, once=True)) == PlanSettings(
        1, True, None, False, False, True, True
    )
