"""Questions, and the studies that they become: windows, axes, the baseline, and its file."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from whatif_logs import HOSTS, log_of, recorded_log

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile
from batprotocol.simulator import StaticJob, Workload
from batprotocol.studies import Study
from batprotocol.studies.whatif import Question, parse_nodes, plan_for, study_toml
from batprotocol.studies.whatif._plan import resized
from batprotocol.studies.whatif._question import LogSpan, span_of_log, usual_length, windows_of
from batprotocol.workloads import described_platform, platform_xml, read_platform

WITHOUT_ENGINE = True

QUESTION = Question(policies=("fcfs", "easy"), window=86_400.0, warm_up=43_200.0, cool_down=21_600.0)


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=60),
    st.integers(0, 3000),
    st.integers(1, 3000),
    st.integers(1, 700),
)
def test_windows_are_the_whole_time_and_jobs_are_where_they_belong(
    times: list[int], begin: int, span: int, length: int
) -> None:
    times.sort()
    windows = windows_of(times, begin, begin + span, length)
    assert (windows[0].begin, windows[-1].end) == (begin, begin + span)
    assert all(one.end == other.begin for one, other in pairwise(windows))
    assert all(each.end - each.begin == length for each in windows[:-1])
    assert len(windows) == 1 or 0.5 * length <= windows[-1].end - windows[-1].begin <= 1.5 * length
    for each in windows:
        assert each.jobs == sum(each.begin <= time < each.end for time in times)


@given(st.lists(st.integers(0, 10**7), min_size=2, max_size=30, unique=True), st.integers(1, 10**6))
def test_the_warm_up_is_the_time_in_which_jobs_end_but_short(times: list[int], run: int) -> None:
    workload = Workload(
        [StaticJob(str(n), float(at), 1, DelayProfile(float(run))) for n, at in enumerate(sorted(times))]
    )
    found = span_of_log(workload, None, 0.0)
    first, last = min(times), max(times)
    assert found.begin == first + min(run, (last - first) // 20)
    assert (found.first, found.last, found.end) == (first, last, last + 1)


@given(st.floats(600, 1e9))
def test_there_are_ten_windows_if_nobody_says_how_long_they_are(span: float) -> None:
    length = usual_length(LogSpan(0.0, span, 0.0, span))
    assert len(windows_of((), 0.0, span, length)) >= 10
    assert length <= 604_800


@given(st.integers(1, 10**6), st.integers(0, 1000))
def test_numbers_of_hosts(hosts: int, number: int) -> None:
    assert parse_nodes(f"+{number}", hosts) == hosts + number
    assert parse_nodes(f"+{number}%", hosts) == int(hosts + hosts * number / 100 + 0.5)
    assert parse_nodes("2x", hosts) == 2 * hosts
    if number:
        assert parse_nodes(str(number), hosts) == number


@pytest.mark.parametrize("text", ["", "x", "10%", "+x", "1.5", "-100%", "-64", "0", "nan", "+1e9", "1 0", "٣"])
def test_what_is_no_number_of_hosts_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_nodes(text, 64)


def test_the_baseline_is_the_first_policy_on_the_machine_of_the_log(tmp_path: Path) -> None:
    log = log_of(tmp_path / "log.swf")
    question = msgspec.structs.replace(QUESTION, arrivals=(1.1,), nodes=("+25%",), estimates=("exact", "predicted"))
    plan = plan_for(log, question)
    assert (plan.hosts, plan.has_starts, len(plan.windows)) == (HOSTS, False, 8)
    assert (plan.today, plan.is_assumed, plan.recorded) == ("fcfs", True, "")
    assert plan.axes == ("scheduler", "arrival_factor", "platform", "estimates")
    assert plan.baseline == "fcfs, 1, 16, asked"
    study = Study(**plan.keys)
    assert study.count() == len(study.runs()) == 2 * 2 * 2 * 3
    assert [plan.span.label] == list(study.axes["window"])


def test_what_really_happened_stands_beside_a_copy_of_today(tmp_path: Path) -> None:
    log = recorded_log(tmp_path / "log.swf")
    plan = plan_for(log, msgspec.structs.replace(QUESTION, arrivals=(0.9,)))
    assert (plan.baseline, plan.recorded, plan.is_assumed) == ("easy, 1", "recorded, 1", True)
    study = Study(**plan.keys)
    assert study.count(["scheduler=recorded"]) == 1  # with no other arrivals than those of the log
    assert study.count() == 1 + 2 * 2
    other = plan_for(log, msgspec.structs.replace(QUESTION, arrivals=(0.9,), today="conservative"))
    assert (other.baseline, other.is_assumed) == ("conservative, 1", False)
    assert Study(**other.keys).count() == 1 + 1 + 2 * 2


def test_the_file_of_the_study_has_the_same_runs(tmp_path: Path) -> None:
    log = recorded_log(tmp_path / "a log.swf")
    question = msgspec.structs.replace(QUESTION, nodes=("0.75x",), estimates=("exact",), arrivals=(0.9,))
    plan = plan_for(log, question)
    (tmp_path / "study.toml").write_text(study_toml(plan.keys, ["a study"]))
    known = [run.key for run in Study(**plan.keys).runs()]
    assert [run.key for run in Study.read(tmp_path / "study.toml").runs()] == known


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["workload", "load", "only"]), VALUES, max_size=3))
def test_toml_is_read_as_it_was_written(keys: dict[str, object]) -> None:
    assert msgspec.toml.decode(study_toml(keys, ["two\nlines"])) == keys


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"policies": ()}, "at least one policy"),
        ({"policies": ("recorded",)}, "leave it out"),
        ({"arrivals": (0.0,)}, "a factor of arrivals > 0"),
        ({"arrivals": (float("nan"),)}, "a factor of arrivals > 0"),
        ({"estimates": ("good",)}, "asked, exact, predicted"),
        ({"window": 0.0}, "windows of > 0 seconds"),
        ({"warm_up": -1.0}, "a warm-up of >= 0"),
        ({"warm_up": 5 * 86_400.0}, "use shorter ones"),
        ({"window": 1e-3}, "10,000 is the maximum"),
        ({"nodes": ("+",)}, "a number of hosts"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        plan_for(log_of(tmp_path / "log.swf"), msgspec.structs.replace(QUESTION, **changes))


def test_models_are_refused() -> None:
    with pytest.raises(InputError, match="drawn from a model"):
        plan_for("lublin:64", QUESTION)


def test_a_platform_can_have_another_number_of_hosts(tmp_path: Path) -> None:
    described = described_platform("n[0-7] cores=4 partitions=a; g[0-3] cores=8 memory=1G")
    (tmp_path / "m.xml").write_text(platform_xml(described))
    log, question = log_of(tmp_path / "log.swf"), msgspec.structs.replace(QUESTION, nodes=("+50%", "6"))
    plan = plan_for(log, question, platform=str(tmp_path / "m.xml"), folder=str(tmp_path))
    assert plan.machines == {"12": 12, "18": 18, "6": 6}
    for path, text in plan.files.items():
        Path(path).write_text(text)
    kinds = {}
    for each in plan.keys["platform"]:
        hosts = read_platform(each["platform"]).computation_hosts
        kinds[each["name"]] = Counter((host.cores, dict(host.properties).get("memory")) for host in hosts)
    assert kinds["12"] == {(4, None): 8, (8, "1G"): 4}
    assert kinds["18"] == {(4, None): 12, (8, "1G"): 6}
    assert kinds["6"] == {(4, None): 4, (8, "1G"): 2}
    assert Study(**plan.keys).count() == 3 * 2


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 40))
def test_kinds_of_hosts_keep_their_shares(sizes: list[int], count: int) -> None:
    lines = [f"k{kind}n[0-{size - 1}] cores={kind + 1}" for kind, size in enumerate(sizes)]
    found = Counter(host.cores for host in resized(described_platform(lines), count).hosts)
    assert found.total() == count
    for kind, size in enumerate(sizes):
        assert abs(found[kind + 1] - size * count / sum(sizes)) < 1
