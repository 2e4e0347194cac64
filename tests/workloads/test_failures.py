"""Failures that are drawn: their laws against scipy, their number against the renewal function, and their order."""

from __future__ import annotations

import io
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from batprotocol._util.times import parse_duration
from batprotocol.errors import InputError
from batprotocol.workloads import described_platform, read_external_events
from batprotocol.workloads.host_events import (
    FAILURE_PRESETS,
    Exponential,
    FailureModel,
    Fixed,
    HostChange,
    HostEvent,
    HostStates,
    Law,
    Lognormal,
    Weibull,
    drawn_failures,
    failure_preset,
    host_groups,
    parse_law,
    write_host_events,
)
from batprotocol.workloads.host_events.failures import RandomStream

WITHOUT_ENGINE = True
HOUR, DAY = 3600.0, 86400.0

LAWS = [
    (Exponential(DAY), stats.expon(scale=DAY)),
    (Weibull.of_mean(0.7, DAY), stats.weibull_min(0.7, scale=DAY / math.gamma(1 + 1 / 0.7))),
    (Weibull(0.48, 816.6 * HOUR), stats.weibull_min(0.48, scale=816.6 * HOUR)),
    (Lognormal.of_mean(355 * 60.0, 54 * 60.0), stats.lognorm(math.sqrt(2 * math.log(355 / 54)), scale=54 * 60.0)),
    (Lognormal(8.0, 1.9), stats.lognorm(1.9, scale=math.exp(8.0))),
]


@pytest.mark.parametrize(("law", "expected"), LAWS, ids=[str(law) for law, _ in LAWS])
def test_times_follow_their_law(law: Law, expected: stats.rv_continuous) -> None:
    assert law.mean == pytest.approx(expected.mean())
    chances = np.linspace(1e-9, 1 - 1e-9, 1001)
    assert [law.time(chance) for chance in chances] == pytest.approx(expected.ppf(chances))


@pytest.mark.parametrize(("law", "expected"), LAWS, ids=[str(law) for law, _ in LAWS])
def test_what_hosts_live_through_follows_the_laws(law: Law, expected: stats.rv_continuous) -> None:
    """Kolmogorov and Smirnov, of the times that are read from the events, with a fixed seed."""
    working: list[float] = []
    repairs: list[float] = []
    since: dict[str, float] = defaultdict(float)
    model = FailureModel(law, Fixed(HOUR))
    for time, event in drawn_failures(40, model, until=60 * law.mean, seed=3):
        place = event.hosts.text
        (working if event.state is HostChange.DOWN else repairs).append(time - since[place])
        since[place] = time
    assert repairs == pytest.approx([HOUR] * len(repairs))
    early = [time for time in working if time < 5 * law.mean]  # the end of the time cuts long ones off
    assert len(early) > 1000
    below = expected.cdf(5 * law.mean)
    assert stats.kstest(early, lambda times: expected.cdf(times) / below).pvalue > 0.01


def test_chances_are_uniform_and_streams_differ() -> None:
    some, others = ([RandomStream(seed, "host 7").chance() for _ in range(3)] for seed in (1, 2))
    assert some != others
    stream = RandomStream(1, "host 8")
    numbers = [stream.chance() for _ in range(20_000)]
    assert stats.kstest(numbers, "uniform").pvalue > 0.01
    pairs = np.corrcoef(numbers[:-1], numbers[1:])[0, 1]
    assert abs(pairs) < 4 / math.sqrt(len(numbers))
    firsts = [RandomStream(0, f"0 host {host}").chance() for host in range(20_000)]
    assert stats.kstest(firsts, "uniform").pvalue > 0.01
    assert 0 < min(numbers) < max(numbers) < 1


def renewals(shape: float, mean: float, until: float, step: float) -> float:
    """The renewal function of a Weibull law by numpy: m = F + m * f, on a grid."""
    count = round(until / step)
    scale = mean / math.gamma(1 + 1 / shape)
    distribution = 1 - np.exp(-((np.arange(count + 1) * step / scale) ** shape))
    masses = np.diff(distribution)  # of the times within each step, taken as its middle
    expected = np.zeros(count + 1)
    for place in range(1, count + 1):
        before = expected[place - 1 :: -1] / 2  # the first value lacks the number at this place, which is solved for
        before[1:] += expected[place - 1 : 0 : -1] / 2
        expected[place] = (distribution[place] + masses[:place] @ before) / (1 - masses[0] / 2)
    return float(expected[count])


@pytest.mark.parametrize("shape", [0.7, 1.0, 2.0])
def test_the_number_of_failures_is_the_renewal_function(shape: float) -> None:
    hosts, until = 2000, 10 * DAY
    model = FailureModel(Weibull.of_mean(shape, 2 * DAY), Fixed(0.001))
    counts: dict[str, int] = defaultdict(int)
    for _, event in drawn_failures(hosts, model, until=until, seed=1):
        counts[event.hosts.text] += event.state is HostChange.DOWN
    numbers = np.array([counts[str(host)] for host in range(hosts)])
    expected = renewals(shape, 2 * DAY, until, until / 2000)
    if shape == 1.0:
        assert expected == pytest.approx(5.0, rel=0.01)
    error = numbers.std() / math.sqrt(hosts)
    assert abs(numbers.mean() - expected) < 3 * error + 0.005 * expected


durations = st.sampled_from([0.001, 0.5, 3.0, 40.0])
laws = st.builds(Exponential, durations) | st.builds(Fixed, durations) | st.builds(Weibull, st.just(0.7), durations)
models = st.builds(FailureModel, laws, laws, st.sampled_from(["host", "machine", "rack=2", "rack=3"]))


@settings(max_examples=60)
@given(st.integers(1, 8), st.lists(models, min_size=1, max_size=3), st.integers(), st.sampled_from([0.0, 20.0]))
def test_hosts_fail_and_come_back_in_turns(hosts: int, kinds: list[FailureModel], seed: int, age: float) -> None:
    states, last, moments = HostStates(hosts), 0.0, set[tuple[float, int]]()
    for number, (time, event) in enumerate(drawn_failures(hosts, kinds, until=30.0, seed=seed, age=age)):
        if number > 3000:
            return  # 1 ms now and then makes many
        assert time >= last
        states.take(time, event)  # no host fails twice, or comes back before it failed
        assert moments.isdisjoint((time, host) for host in event.hosts)
        moments |= {(time, host) for host in event.hosts}
        assert time < 30.0 or event.state is HostChange.UP
        last = time
    assert not states.down.intervals


def of_host(events: list[tuple[float, HostEvent]], host: int) -> list[tuple[float, HostChange]]:
    return [(time, event.state) for time, event in events if host in event.hosts]


def test_a_host_fails_at_the_same_times_whatever_the_others_do() -> None:
    model = FailureModel(Exponential(DAY), Exponential(HOUR))
    few = list(drawn_failures(8, model, until=9 * DAY, seed=4))
    many = list(drawn_failures(100, model, until=9 * DAY, seed=4))
    longer = list(drawn_failures(8, model, until=18 * DAY, seed=4))
    assert few == list(drawn_failures(8, model, until=9 * DAY, seed=4))
    for host in range(8):
        assert of_host(few, host) == of_host(many, host) == of_host(longer, host)[: len(of_host(few, host))]
    assert of_host(few, 0) != of_host(few, 1)
    assert few != list(drawn_failures(8, model, until=9 * DAY, seed=5))


def test_a_rack_takes_its_hosts_with_it() -> None:
    rack = FailureModel(Exponential(DAY), Exponential(HOUR), "rack=4")
    alone = [(time, event.hosts.text) for time, event in drawn_failures(10, rack, until=20 * DAY)]
    assert {hosts for _, hosts in alone} == {"0-3", "4-7", "8-9"}
    both = [FailureModel(Fixed(5.0), Fixed(10.0)), FailureModel(Fixed(8.0), Fixed(3.0), "machine")]
    found = [(time, event.state.value, event.hosts.text) for time, event in drawn_failures(2, both, until=9.0)]
    assert found == [(5.0, "down", "0-1"), (15.0, "up", "0-1")]


def test_old_hosts_fail_as_often_at_the_beginning_as_later() -> None:
    model = FailureModel(Weibull.of_mean(0.5, 10 * DAY), Fixed(HOUR))

    def failures(age: float, begin: float, end: float) -> int:
        events = drawn_failures(1000, model, until=end, seed=2, age=age)
        return sum(event.hosts.size for time, event in events if time >= begin and event.state is HostChange.DOWN)

    new, old = failures(0.0, 0.0, DAY), failures(300 * DAY, 0.0, DAY)
    steady = failures(0.0, 300 * DAY, 301 * DAY)
    assert new > 2 * old
    assert abs(old - steady) < 5 * math.sqrt(steady)


def test_groups_of_a_platform() -> None:
    platform = described_platform("n[0-3] rack=a; m[0-1] rack=b; x0")
    assert [(name, str(hosts)) for name, hosts in host_groups(platform, "property=rack")] == [
        ("a", "0-3"),
        ("b", "4-5"),
    ]
    assert [(name, str(hosts)) for name, hosts in host_groups(platform, "zone")] == [("cluster", "0-6")]
    assert [str(hosts) for _, hosts in host_groups(platform, "machine")] == ["0-6"]
    assert host_groups(0, "machine") == host_groups(0, "host") == []
    for each in ("hosts", "rack", "rack=0", "rack=x", "property", "property=", "property=room", "zones", ""):
        with pytest.raises(InputError):
            host_groups(platform, each)
    with pytest.raises(InputError, match="name a file"):
        host_groups(4, "zone")


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    events = list(drawn_failures(5, failure_preset("opendc"), until=9000 * DAY, seed=1))
    file = io.StringIO()
    assert write_host_events(events, file) == len(events) > 500
    path = tmp_path / "events.jsonl"
    path.write_text(file.getvalue())
    found = read_external_events(path).events
    assert [(each.timestamp, each.data) for each in found] == [(time, event.to_data()) for time, event in events]


def test_presets_have_their_sources() -> None:
    lanl = failure_preset("lanl", mtbf=30 * DAY, each="rack=4")
    assert (lanl.between.mean, lanl.each) == (pytest.approx(30 * DAY), "rack=4")
    assert (lanl.repair.mean / 60, lanl.repair.time(0.5) / 60) == (pytest.approx(355), pytest.approx(54))
    assert failure_preset("opendc").between == Weibull(0.48, 816.6 * HOUR)
    assert all(each.source and each.meaning for each in FAILURE_PRESETS.values())
    for name, mtbf in (("lanl", None), ("opendc", DAY), ("nobody", None)):
        with pytest.raises(InputError):
            failure_preset(name, mtbf=mtbf)


@pytest.mark.parametrize(
    "text",
    ["", "gauss:1", "exponential", "exponential:", "exponential:0", "exponential:-1", "exponential:x", "fixed:1d,2d",
     "exponential:mean=inf", "weibull:1d", "weibull:shape=0.7", "weibull:shape=0,mean=1d", "weibull:shape=x,mean=1d",
     "weibull:shape=nan,scale=1", "weibull:shape=1e-9,mean=1d", "weibull:shape=1e-9,scale=1d",
     "weibull:shape=1,mean=1,scale=1", "weibull:shape=1,shape=1,mean=1", "lognormal:mean=1,median=2",
     "lognormal:mu=1e9,sigma=1", "lognormal:mu=1,sigma=-1", "lognormal:mu=nan,sigma=1", "lognormal:" + "9" * 999],
)  # fmt: skip
def test_what_is_no_law_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_law(text)


def test_laws_in_text() -> None:
    assert parse_law("exponential:30d") == parse_law("exponential:mean=30d") == Exponential(30 * DAY)
    assert parse_law("weibull:shape=0.48,scale=816.6h") == Weibull(0.48, 816.6 * HOUR)
    assert parse_law("weibull:mean=1d,shape=2") == Weibull.of_mean(2.0, DAY)
    assert parse_law("lognormal:mean=355min,median=54m") == Lognormal.of_mean(355 * 60.0, 54 * 60.0)
    assert parse_law("lognormal:mu=8,sigma=0") == Lognormal(8.0, 0.0)


def test_durations() -> None:
    assert parse_duration("1y") == 12 * parse_duration("1mo") == 365.25 * DAY
    assert parse_duration("1w2d3h4m5s") == 7 * DAY + 2 * DAY + 3 * HOUR + 245
    assert (parse_duration("0"), parse_duration("2.5"), parse_duration("1.5min")) == (0.0, 2.5, 90.0)
    for text in ("", "d", "1h1d", "1d1d", "-1", "1e3", "1 d", "nan", "1x", "9" * 999, "1d 2", "1d2"):
        with pytest.raises(InputError):
            parse_duration(text)


@pytest.mark.parametrize(
    ("until", "age"), [(-1.0, 0.0), (math.nan, 0.0), (math.inf, 0.0), (1.0, -1.0), (1.0, math.inf)]
)
def test_times_out_of_range_are_refused(until: float, age: float) -> None:
    with pytest.raises(InputError):
        drawn_failures(1, FailureModel(Fixed(1.0), Fixed(1.0)), until=until, age=age)
