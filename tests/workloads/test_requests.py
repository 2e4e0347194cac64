"""The vocabulary of jobs and hosts: values that are read or refused, and dependencies that are satisfied or never."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState, Host, HostProperty
from batprotocol.model.hosts import frozen_hosts
from batprotocol.workloads.requests import (
    Condition,
    Dependencies,
    OfferedHosts,
    Request,
    check_requests,
    expanded_names,
    folded_names,
    host_schema,
    read_offer,
    read_request,
    request_schema,
)
from batprotocol.workloads.requests.notation import matches, parse_constraint, parse_gres, parse_memory, parse_moment
from batprotocol.workloads.requests.offers import needs_of
from batprotocol.workloads.requests.request import moved_recording, parse_recording, with_recording
from batprotocol.workloads.requests.usage import busy_hosts, share_hosts
from batprotocol.workloads.requests.vocabulary import HOST_KEYS, JOB_KEYS

WITHOUT_ENGINE = True

DONE = FinalJobState.COMPLETED_SUCCESSFULLY
FAILED = FinalJobState.COMPLETED_FAILED


def asked(**keys: Any) -> Request:
    return read_request(json.dumps(keys))


def host(number: int, **properties: str) -> Host:
    given = [HostProperty(key, value) for key, value in properties.items()]
    return Host(id=number, name=f"n{number}", core_count=8, properties=given, computation_speed=[1.0])


def test_all_keys_are_read() -> None:
    given: dict[str, Any] = {
        "name": "x",
        "user": 7,
        "group": "g",
        "account": "a",
        "qos": "q",
        "partition": "p,q",
        "priority": 3,
        "nice": -2,
        "begin": "now+2minutes",
        "deadline": 900,
        "constraint": "ib&!old",
        "tasks": 6,
        "cores": 2,
        "memory": "2G",
        "gres": {"gpu:a100": 1},
        "licenses": "matlab:2,ansys",
        "per": "task",
        "nodelist": "n[1-2]",
        "exclude": ["n[5-6,8]", "m1"],
        "exclusive": False,
        "contiguous": True,
        "dependency": "afterok:1",
        "workflow": "montage",
        "array": "12_3%2",
        "requeue": False,
        "reservation": "r",
        "recorded": {"start": 60, "hosts": "0-2 8"},
    }
    assert set(given) == set(JOB_KEYS) == set(request_schema()["properties"])
    request = asked(**given, mine=1)
    assert request.unknown == ("mine",)
    assert request.partition == ("p", "q")
    assert request.begin is not None
    assert request.begin.of(100.0) == 220.0
    assert request.nodelist == ("n1", "n2")
    assert request.exclude == ("n5", "n6", "n8", "m1")
    assert request.array is not None
    assert (request.array.array, request.array.task, request.array.limit) == ("12", 3, 2)
    assert request.recorded is not None
    assert (request.recorded.start, list(request.recorded.hosts or ())) == (60.0, [0, 1, 2, 8])
    needs = needs_of(request, 4)  # two of the tasks on each host at most
    assert (needs.cores, needs.memory, str(needs.gres[0])) == (4, 4 << 30, "gpu:a100:2")
    assert set(HOST_KEYS) == set(host_schema()["properties"])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"memory": -1}, "memory: expected memory >= 0"),
        ({"memory": "4X"}, "memory: expected memory >= 0"),
        ({"constraint": "a&&b"}, "constraint: expected a feature, ! or (, got '&' at character 3 of 'a&&b'"),
        ({"constraint": "[a|b"}, "constraint: expected ], got the end at character 5"),
        ({"constraint": ""}, "constraint: expected a constraint such as"),
        ({"gres": {"gpu": -1}}, "gres.gpu: expected a whole number >= 0, got -1"),
        ({"gres": "gpu:x:y:1"}, "gres: expected NAME, NAME:COUNT or NAME:TYPE:COUNT"),
        ({"dependency": "afterwards:1"}, "dependency: expected one of after, afterany, afterok, afternotok"),
        ({"dependency": "afterok:1,after:2?singleton"}, "dependency: expected either ',' (all) or '?' (any)"),
        ({"dependency": "afterok"}, "dependency: expected the id of a job behind each ':'"),
        ({"array": "12"}, "array: expected the id of an array and the number of a task"),
        ({"array": "12_1%0"}, "array: expected the id of an array"),
        ({"per": "task"}, "per: expected the key tasks"),
        ({"per": "node"}, "per: expected 'host' or 'task', got 'node'"),
        ({"begin": "now+3fortnights"}, "begin: expected seconds >= 0"),
        ({"nodelist": "n[1-"}, "nodelist: expected names such as 'n[0-63]'"),
        ({"exclude": 3}, "exclude: expected names of hosts, as 'n[0-3]'"),
        ({"exclude": [""]}, "exclude: expected names of hosts, as 'n[0-3]'"),
        ({"nodelist": "n[0-999999]"}, "nodelist: '[0-999999]' stands for more than"),
        ({"cores": 0}, "cores: expected a whole number >= 1, got 0"),
        ({"cores": True}, "cores: expected a whole number >= 1, got True"),
        ({"exclusive": 1}, "exclusive: expected true or false, got 1"),
        ({"partition": ""}, "partition: expected names"),
        ({"recorded": 60}, 'recorded: expected an object such as {"start": 60, "hosts": "0-3"}, got 60'),
        ({"recorded": {"hosts": "0"}}, "recorded: expected an object such as"),
        (
            {"recorded": {"start": 1, "host": "0"}},
            "recorded: expected start, hosts, cores and held, got the key 'host'",
        ),
        ({"recorded": {"start": "1"}}, "recorded.start: expected seconds, got '1'"),
        ({"recorded": {"start": 10**400}}, "recorded.start: expected seconds, got "),
        ({"recorded": {"start": 1, "cores": 0}}, "recorded.cores: expected a number of cores, got 0"),
        ({"recorded": {"start": 1, "held": -1}}, "recorded.held: expected seconds >= 0, got -1"),
        ({"recorded": {"start": 1, "hosts": "n0"}}, 'recorded.hosts: expected numbers of hosts such as "0-3 8"'),
        ({"recorded": {"start": 1, "hosts": ""}}, "recorded.hosts: expected numbers of hosts"),
        ({"recorded": {"start": 1, "hosts": [0]}}, "recorded.hosts: expected numbers of hosts"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(data: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        asked(**data)
    assert str(caught.value).startswith(sentence)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner)))
def test_any_value_is_read_or_refused(value: Any) -> None:
    for key in JOB_KEYS:
        with suppress(InputError):
            read_request(json.dumps({key: value}))


@given(st.text(alphabet="ab&|!()[]*2 _x", max_size=20))
def test_any_constraint_is_read_or_refused(text: str) -> None:
    try:
        constraint = parse_constraint(text)
    except InputError:
        return
    for features in (set(), {"a"}, {"a", "b"}):
        matches(constraint.each, features)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a", lambda a, b, c: a),
        ("!a", lambda a, b, c: not a),
        ("a&b|c", lambda a, b, c: (a and b) or c),
        ("a&(b|c)", lambda a, b, c: a and (b or c)),
        ("!(a|b)&c", lambda a, b, c: not (a or b) and c),
        ("!!a", lambda a, b, c: a),
    ],
)
def test_constraints_are_those_of_logic(text: str, holds: Callable[[bool, bool, bool], bool]) -> None:
    each = parse_constraint(text).each
    for bits in range(8):
        has = [bool(bits >> place & 1) for place in range(3)]
        features = {name for name, there in zip("abc", has, strict=True) if there}
        assert matches(each, features) == holds(*has)


def test_amounts() -> None:
    assert parse_memory(1) == parse_memory("1M") == parse_memory("1024K") == 1 << 20
    assert parse_memory("1.5G") == 3 << 29
    assert parse_memory("2TB") == 2 << 40
    assert [str(each) for each in parse_gres("gpu:a100:2,gpu:a100,fpga")] == ["fpga:1", "gpu:a100:3"]
    assert [str(each) for each in parse_gres("gpu:1g.5gb:2,gpu:1g.5gb")] == ["gpu:1g.5gb:3"]
    with pytest.raises(InputError, match="expected NAME"):
        parse_gres("gpu:1.5")
    assert parse_gres({"gpu": 0}) == ()
    assert parse_moment("now").of(5.0) == 5.0
    assert parse_moment("now+1week").seconds == 604800.0


def test_names_of_hosts() -> None:
    assert expanded_names("n[1-3,08-10]x[0-1]")[:4] == ["n1x0", "n1x1", "n2x0", "n2x1"]
    assert expanded_names("a,b[0],c") == ["a", "b0", "c"]
    for wrong in ("n[", "n]", "n[3-1]", "", "a,,b", "n[a]", "n[0-100000]", "n[[1]]"):
        with pytest.raises(InputError):
            expanded_names(wrong)


def test_offers() -> None:
    properties = {"cores": "4", "memory": "2G", "gres": "gpu:v100:2", "features": "ib, fast", "weight": "9"}
    offer = read_offer(host(3, **properties))
    assert (offer.id, offer.cores, offer.memory, offer.weight) == (3, 4, 2 << 30, 9)
    assert offer.features == {"ib", "fast"}
    with pytest.raises(InputError, match=r"host n1: property cores: expected a whole number >= 1, got 0"):
        read_offer(host(1, cores="0"))


@pytest.mark.parametrize(
    ("data", "hosts", "sentence"),
    [
        ({"gres": {"gpu": 5}}, 1, "no host has gpu:5"),
        ({"gres": {"gpu:h100": 1}}, 1, "no host has gpu:h100:1"),
        ({"partition": "nowhere"}, 1, "there is no partition 'nowhere'; there are batch, gpu"),
        ({"constraint": "fast"}, 1, "no host has the feature 'fast'; there are ib"),
        ({"cores": 9}, 1, "no host has 9 cores"),
        ({"memory": "16G", "cores": 2}, 3, "it asks for 3 hosts, and 2 have 2 cores and 16 GiB"),
        ({"constraint": "[ib|ib]"}, 3, "it asks for 3 hosts, and no alternative of '[ib|ib]' has so many"),
        ({"constraint": "ib*3"}, 4, "'ib*3' asks for 3 hosts of a kind, and there are 2"),
    ],
)
def test_a_job_that_can_never_run_has_its_reason(data: dict[str, Any], hosts: int, sentence: str) -> None:
    site = OfferedHosts(
        [
            host(0, memory="16G", features="ib", partitions="batch"),
            host(1, memory="16G", features="ib", partitions="batch"),
            host(2, memory="8G", gres="gpu:a100:4", partitions="gpu,batch"),
            host(3, memory="8G", partitions="batch"),
        ]
    )
    assert site.refusal(asked(**data), hosts) == sentence
    assert site.refusal(asked(cores=8), 4) is None


def submitted(*jobs: tuple[str, dict[str, Any]]) -> Dependencies:
    waiting = Dependencies()
    for time, (name, data) in enumerate(jobs):
        waiting.submitted(f"w0!{name}", asked(**data), float(time))
    return waiting


def test_conditions_are_those_of_slurm() -> None:
    kinds = ["after:a", "afterany:a", "afterok:a", "afternotok:a", "after:a+2"]
    waiting = submitted(("a", {}), *((kind, {"dependency": kind}) for kind in kinds))
    since = {kind: waiting.verdict(f"w0!{kind}").since for kind in kinds}
    assert set(since.values()) == {math.inf}
    assert waiting.started("w0!a", 10.0) == [f"w0!{kind}" for kind in kinds]
    assert waiting.verdict("w0!after:a").since == 10.0
    assert waiting.verdict("w0!after:a+2").since == 130.0
    waiting.ended("w0!a", FAILED, 20.0)
    assert waiting.verdict("w0!afterany:a").since == waiting.verdict("w0!afternotok:a").since == 20.0
    assert waiting.verdict("w0!afterok:a").never == "it waits for w0!a to succeed, which failed"


def test_any_of_several_is_enough() -> None:
    waiting = submitted(("a", {}), ("b", {}), ("c", {"dependency": "afterok:a?afterok:b"}))
    waiting.ended("w0!a", FAILED, 5.0)
    assert waiting.verdict("w0!c") == (math.inf, None)
    waiting.ended("w0!b", DONE, 7.0)
    assert waiting.verdict("w0!c").since == 7.0


def test_the_chain_says_why_a_job_never_runs() -> None:
    waiting = submitted(("a", {}), ("b", {"dependency": "afterok:a"}), ("c", {"dependency": "afterok:b"}))
    waiting.ended("w0!a", FAILED, 5.0)
    why = waiting.verdict("w0!b").never
    assert why is not None
    assert waiting.ended("w0!b", FinalJobState.REJECTED, 5.0, why) == ["w0!c"]
    expected = "it waits for w0!b to succeed, which was rejected: it waits for w0!a to succeed, which failed"
    assert waiting.verdict("w0!c").never == expected


def test_circles_and_jobs_that_never_come() -> None:
    depends = {"a": "afterok:b", "b": "afterany:a", "c": "after:z"}
    waiting = submitted(*((name, {"dependency": on}) for name, on in depends.items()))
    assert waiting.verdict("w0!a").never == "it waits for itself: w0!a -> w0!b -> w0!a"
    assert waiting.verdict("w0!c").never is None
    assert waiting.no_more() == ["w0!c"]
    assert waiting.verdict("w0!c").never == "it waits for w0!z, which was never submitted"
    assert submitted(("a", {"dependency": "afterok:a"})).verdict("w0!a").never == "it waits for itself: w0!a -> w0!a"


def test_a_task_that_never_comes() -> None:
    waiting = submitted(("a", {"array": "A_2", "dependency": "aftercorr:B"}), ("b", {"array": "B_1"}))
    assert waiting.verdict("w0!a") == (math.inf, None)
    assert waiting.no_more() == ["w0!a"]
    assert waiting.verdict("w0!a").never == "it waits for task 2 of w0!B, which was never submitted"


def test_other_workloads_arrays_and_singletons() -> None:
    waiting = Dependencies()
    waiting.submitted("w0!x", asked(array="12_0"), 0.0)
    waiting.submitted("w0!y", asked(array="12_1"), 0.0)
    waiting.submitted("w1!all", asked(dependency="afterok:w0!12"), 0.0)
    waiting.submitted("w0!task", asked(array="13_1", dependency="aftercorr:12"), 0.0)
    waiting.submitted("w0!first", asked(name="n", user=1), 0.0)
    waiting.submitted("w0!single", asked(name="n", user=1, dependency="singleton"), 0.0)
    waiting.ended("w0!y", DONE, 4.0)
    assert waiting.verdict("w0!task").since == 4.0
    assert waiting.verdict("w1!all").since == math.inf
    waiting.ended("w0!x", DONE, 6.0)
    assert waiting.verdict("w1!all").since == 6.0
    assert waiting.ended("w0!first", FAILED, 9.0) == ["w0!single"]
    assert waiting.verdict("w0!single").since == 9.0
    assert str(Condition("after", "7", 300.0)) == "after:7+5"


@pytest.mark.parametrize(
    ("extra_data", "sentence"),
    [
        ({"dependency": "afterok:0"}, "w.json: job 'w0!0': dependency: it waits for itself: w0!0 -> w0!0"),
        ({"dependency": "afterok:1"}, "w.json: job 'w0!0': dependency: it waits for itself: w0!0 -> w0!1 -> w0!0"),
        ({"constraint": "a&(b"}, "w.json: job 'w0!0': constraint: expected ), got the end at character 5 of 'a&(b'"),
        ({"memory": -1}, "w.json: job 'w0!0': memory: expected memory >= 0, in MiB or with a unit"),
    ],
)
def test_a_file_is_checked_before_a_simulation(extra_data: dict[str, Any], sentence: str) -> None:
    jobs = [extra_data, {"dependency": "afterany:0"}, {}, {"dependency": "afterok:unknown"}]
    given = [(f"w0!{number}", json.dumps(each), "w.json") for number, each in enumerate(jobs)]
    check_requests(given[1:])
    with pytest.raises(InputError) as caught:
        check_requests(given)
    assert str(caught.value).startswith(sentence)


def test_long_chains_and_wide_graphs_take_linear_time() -> None:
    """A circle is looked for only where a job can close one."""
    count = 20_000
    waiting = Dependencies()
    for number in range(count):
        waiting.submitted(f"w!{number}", asked(dependency=f"afterok:{number - 1}") if number else asked(), 0.0)
    for number in range(count):
        assert waiting.verdict(f"w!{number}").never is None
        waiting.ended(f"w!{number}", DONE, 1.0)


# Hosts in use, job by job


def written(hosts: set[int]) -> str:
    """A host set as a table has it, with a dash wherever two numbers follow each other."""
    return str(frozen_hosts(" ".join(map(str, sorted(hosts)))))


stays_of = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 6), st.sets(st.integers(0, 9), min_size=1).map(frozenset)), max_size=9
)


@given(stays_of)
def test_hosts_in_use_are_those_of_each_second(given: list[tuple[int, int, frozenset[int]]]) -> None:
    stays = [(float(begin), float(begin + lasts), written(set(hosts))) for begin, lasts, hosts in given]
    found = busy_hosts(stays)
    assert [time for time, _ in found] == sorted({time for time, _ in found})
    is_shared = False
    for second in range(20):
        here = [hosts for begin, lasts, hosts in given if begin <= second < begin + lasts]
        is_shared |= any(one & two for one, two in itertools.combinations(here, 2))
        busy = next((count for time, count in reversed(found) if time <= second), 0)
        assert busy == len(frozenset().union(*here))
    assert share_hosts(stays) is is_shared
    # Times that differ by less than tables show are equal.
    late = [(begin, end + (0.5 if is_shared else 0.9) * 1e-5, hosts) for begin, end, hosts in stays]
    assert share_hosts(late) is is_shared


# Recordings

WRONG_RECORDINGS: list[tuple[Any, str, str]] = [
    (None, "", "expected an object such as"),
    ([], "", "expected an object such as"),
    ({}, "", "expected an object such as"),
    ({"hosts": "0"}, "", "expected an object such as"),
    ({"start": 1, "end": 2}, "", "expected start, hosts, cores and held, got the key 'end'"),
    ({"start": True}, "start", "expected seconds"),
    ({"start": "1"}, "start", "expected seconds"),
    ({"start": 2**53 + 2}, "start", "expected seconds"),
    ({"start": -(2**53) - 2}, "start", "expected seconds"),
    ({"start": math.nan}, "start", "expected seconds"),
    ({"start": 1, "cores": 0}, "cores", "expected a number of cores"),
    ({"start": 1, "cores": -1}, "cores", "expected a number of cores"),
    ({"start": 1, "cores": True}, "cores", "expected a number of cores"),
    ({"start": 1, "cores": 1.0}, "cores", "expected a number of cores"),
    ({"start": 1, "cores": 2**53 + 1}, "cores", "expected a number of cores"),
    ({"start": 1, "held": -1}, "held", "expected seconds >= 0"),
    ({"start": 1, "held": True}, "held", "expected seconds >= 0"),
    ({"start": 1, "held": "1"}, "held", "expected seconds >= 0"),
    ({"start": 1, "held": 2**53 + 1}, "held", "expected seconds >= 0"),
    ({"start": 1, "hosts": ""}, "hosts", "expected numbers of hosts"),
    ({"start": 1, "hosts": 3}, "hosts", "expected numbers of hosts"),
    ({"start": 1, "hosts": "3-1"}, "hosts", "expected numbers of hosts"),
    ({"start": 1, "hosts": "a"}, "hosts", "expected numbers of hosts"),
]


@pytest.mark.parametrize(("value", "path", "reason"), WRONG_RECORDINGS)
def test_recordings_that_cannot_be(value: Any, path: str, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_recording(value)
    assert (refused.value.path or "", refused.value.reason[: len(reason)]) == (path, reason)


@given(
    st.one_of(st.integers(-(2**53), 2**53), st.floats(-(2**53), 2**53)),
    st.one_of(st.none(), st.integers(1, 2**53)),
    st.one_of(st.none(), st.floats(0, 2**53)),
    st.one_of(st.none(), st.sets(st.integers(0, 50), min_size=1)),
    st.integers(-1000, 1000),
)
def test_a_recording_moves_with_its_job(
    start: float, cores: int | None, held: float | None, hosts: set[int] | None, seconds: int
) -> None:
    value = {"start": start, "cores": cores, "held": held, "hosts": None if hosts is None else written(hosts)}
    found = parse_recording({key: each for key, each in value.items() if each is not None})
    assert (found.start, found.cores, found.held) == (start, cores, held or 0.0)
    assert hosts == (None if found.hosts is None else set(found.hosts))
    data = with_recording('{"user": 7}', start, None if hosts is None else written(hosts))
    kept = json.loads(data)
    assert kept.pop("user") == 7
    assert parse_recording(kept["recorded"])[:2] == (start, found.hosts)
    moved = json.loads(moved_recording(data, seconds) or "")
    assert moved["user"] == 7
    assert moved["recorded"] == {**kept["recorded"], "start": start + seconds}


@pytest.mark.parametrize(
    "data",
    [
        None,
        "",
        "7",
        "[]",
        "recorded",
        '"recorded"',
        '{"user": 7}',
        '{"recorded": 1}',
        '{"recorded": []}',
        '{"recorded": {}}',
        '{"recorded": {"start": true}}',
        '{"recorded": {"start": "1"}}',
        '{"recorded": {"start": 9007199254740994}}',
    ],
)
def test_what_has_no_recording_stays_as_it_is(data: str | None) -> None:
    assert moved_recording(data, 5.0) == data
    assert moved_recording('{"recorded": {"start": 1}}', 0.0) == '{"recorded": {"start": 1}}'
    if not (data or "").startswith("{"):
        assert with_recording(data, 1.0) == '{"recorded":{"start":1.0}}'


# Names of hosts


NUMBERS = st.integers(0, 120).map(str) | st.from_regex(r"0[0-9]{0,2}", fullmatch=True)
NAMES = st.builds("{}{}{}".format, st.sampled_from(["n", "r1-", ""]), NUMBERS, st.sampled_from(["", "x"]))


@given(st.lists(NAMES, min_size=1))
def test_folded_names_are_the_names(names: list[str]) -> None:
    assert expanded_names(folded_names(names)) == names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n1"], "n1"),
        (["n1", "n2"], "n[1-2]"),
        (["n8", "n9", "n10", "n11"], "n[8-11]"),
        (["n08", "n09", "n10"], "n[08-10]"),
        (["n09", "n10", "n100"], "n[09-10,100]"),
        (["n0", "n1"], "n[0-1]"),
        (["n1", "n3", "m4"], "n[1,3],m4"),
        (["n2", "n1"], "n[2,1]"),
    ],
)
def test_how_names_are_folded(names: list[str], text: str) -> None:
    assert folded_names(names) == text
