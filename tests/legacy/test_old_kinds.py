"""What Batsim 1 to 4 abort on, kind by kind, each with what comes nearest to it and is taken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from old_runs import old_run
from test_old_rules import NOTHING, SUBMITTED

from batprotocol.legacy.conversation import Conversation

WITHOUT_ENGINE = True
ONE, FOUR = "batsim-1.4.0", "batsim-4.2.1"
BOTH = (ONE, FOUR)
RUNS = {
    (ONE, ""): "v1.4.0__killlate__killend__1s",
    (ONE, "energy"): "v1.4.0__energy__energy__E",
    (ONE, "dynamic"): "v1.4.0__dyn__late__noack",
    (FOUR, ""): "fillerSched__test_delays__default",
    (FOUR, "energy"): "energy__energy__E",
    (FOUR, "dynamic"): "dyn__empty__noack",
}
WIDE = SUBMITTED.replace(b'"res": 1', b'"res": 2').replace(b"w0!1", b"w0!2")
JOB = {"job_id": "w0!1"}
EXECUTE = ("EXECUTE_JOB", {**JOB, "alloc": "0"})
OFF = ("SET_RESOURCE_STATE", {"resources": "0", "state": "13"})


def said(events: Any, now: float = 0.000045) -> bytes:
    entries = [
        event if isinstance(event, dict) else {"timestamp": now, "type": event[0], "data": event[1]} for event in events
    ]
    return json.dumps({"now": now, "events": entries}).encode()


def judged(version: str, reply: bytes, kind: str = "") -> set[str]:
    """The rules that a reply breaks fatally."""
    conversation = Conversation(version)
    for message in (old_run(RUNS[version, kind]).messages[0][1], NOTHING, SUBMITTED, NOTHING, WIDE):
        assert conversation.feed(message) == []
    return {violation.rule for violation in conversation.feed(reply) if violation.is_fatal}


def with_mapping(mapping: Any, job: str = "w0!2", alloc: str = "0-1") -> tuple[str, Any]:
    return "EXECUTE_JOB", {"job_id": job, "alloc": alloc, "mapping": mapping}


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(
    ("mapping", "rule"),
    [
        ({"0": "0", "1": "1"}, None),
        ({"1": 0, "0": 0}, None),
        ({"+0": "0x", " 1": "-0"}, None),
        ({"1": "0", "2": "1"}, "alloc.mapping"),
        ({"0": "0", "2": "1"}, "alloc.mapping"),
        ({"-1": "0", "0": "1"}, "alloc.mapping"),
        ({"0": "0", "1": "2"}, "alloc.mapping"),
        ({"0": 0, "1": -1}, "alloc.mapping"),
        ({"0": 0.0, "1": 1}, "alloc.mapping"),
        ({"0": True, "1": 1}, "alloc.mapping"),
        ({"0": None, "1": 1}, "alloc.mapping"),
        ({"0": 2**32, "1": 1}, "alloc.mapping"),
        ({"0": "0"}, "alloc.size"),
        ({"0": "0", "1": "1", "2": "0"}, "alloc.size"),
        ([0, 1], "event.form"),
        (None, "event.form"),
    ],
)
def test_mappings(version: str, mapping: Any, rule: str | None) -> None:
    assert judged(version, said([with_mapping(mapping)])) == ({rule} if rule else set())


def test_of_two_members_with_one_name_all_are_mapped_and_counted() -> None:
    twice = b'{"now":1,"events":[{"timestamp":1,"type":"EXECUTE_JOB","data":%s}]}'
    members = b'{"job_id":"w0!2","alloc":"0-1","mapping":{"0":5,"0":0,"1":1}}'
    assert judged(FOUR, twice % members) == set()
    assert judged(FOUR, twice % b'{"job_id":"w0!1","alloc":"0","alloc":"x"}') == set()
    assert judged(FOUR, twice % b'{"job_id":"w0!1","alloc":"0","alloc":"0","alloc":"0"}') == {"event.form"}


@pytest.mark.parametrize(
    ("version", "alloc", "rule"),
    [
        (FOUR, "+0", None),
        (FOUR, "+0-+0", None),
        (FOUR, "0--0", None),
        (FOUR, "0  0", None),
        (FOUR, "0000000000000", None),
        (FOUR, "0 ", "alloc.form"),
        (FOUR, "-0", "alloc.form"),
        (FOUR, "0-0-0", "alloc.form"),
        (FOUR, "0,1", "alloc.form"),
        (FOUR, "0x0", "alloc.form"),
        (FOUR, "99999999999", "alloc.form"),
        (FOUR, "4", "alloc.hosts"),
        (ONE, "0x0", None),
        (ONE, "0,1", None),
        (ONE, "0--0", None),
        (ONE, "x0", "alloc.form"),
        (ONE, "", "alloc.form"),
    ],
)
def test_sets_of_hosts(version: str, alloc: str, rule: str | None) -> None:
    assert judged(version, said([("EXECUTE_JOB", {**JOB, "alloc": alloc})])) == ({rule} if rule else set())


@pytest.mark.parametrize(
    ("version", "job_id", "rule"),
    [
        (FOUR, "w0!!1", None),
        (FOUR, "w0!1\0x", None),
        (FOUR, "w0!1x", "job.unknown"),
        (FOUR, "w0!1!1", "job.id"),
        (FOUR, "1", "job.id"),
        (ONE, "w0!1x", None),
        (ONE, "w0!01", None),
        (ONE, "w0!x1", "job.id"),
    ],
)
def test_names_of_jobs(version: str, job_id: str, rule: str | None) -> None:
    assert judged(version, said([("REJECT_JOB", {"job_id": job_id})])) == ({rule} if rule else set())


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(
    ("ids", "rule"),
    [
        (["w0!1"], None),
        ([], "event.form"),
        ("w0!1", "event.form"),
        (["w0!1", None], "event.form"),
        (["w0!1", "w0!2"], "job.not-running"),
        (["w0!1", "w0!3"], "job.unknown"),
    ],
)
def test_kills(version: str, ids: Any, rule: str | None) -> None:
    assert judged(version, said([EXECUTE, ("KILL_JOB", {"job_ids": ids})])) == ({rule} if rule else set())


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(
    ("events", "rule"),
    [
        ([EXECUTE, OFF], "hosts.busy"),
        ([OFF, EXECUTE], "alloc.asleep"),
        ([EXECUTE, ("SET_RESOURCE_STATE", {"resources": "0-1", "state": "13"})], "hosts.busy"),
        ([EXECUTE, ("SET_RESOURCE_STATE", {"resources": "1", "state": "13"})], None),
        ([EXECUTE, ("SET_RESOURCE_STATE", {"resources": "0", "state": "1"})], None),
        ([EXECUTE, ("KILL_JOB", {"job_ids": ["w0!1"]}), OFF], None),
        ([OFF, ("SET_RESOURCE_STATE", {"resources": "1", "state": "99"})], "hosts.state"),
    ],
)
def test_hosts_that_compute_and_hosts_that_sleep(version: str, events: Any, rule: str | None) -> None:
    assert judged(version, said(events), "energy") == ({rule} if rule else set())


@pytest.mark.parametrize("version", BOTH)
def test_a_host_that_sleeps_can_only_be_switched_on(version: str) -> None:
    conversation = Conversation(version)
    reached = ("RESOURCE_STATE_CHANGED", {"resources": "0", "state": "13"})
    for message in (old_run(RUNS[version, "energy"]).messages[0][1], NOTHING, SUBMITTED, said([OFF]), said([reached])):
        assert conversation.feed(message) == []
    assert {found.rule for found in conversation.feed(said([OFF]))} == {"hosts.state"}
    assert conversation.feed(NOTHING) == []
    assert {found.rule for found in conversation.feed(said([EXECUTE]))} == {"alloc.asleep"}
    assert conversation.feed(NOTHING) == []
    assert conversation.feed(said([("SET_RESOURCE_STATE", {"resources": "0", "state": "0"})])) == []
    assert conversation.feed(said([("RESOURCE_STATE_CHANGED", {"resources": "0", "state": "0"})])) == []
    assert conversation.feed(said([EXECUTE])) == []


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(
    ("requests", "rule"),
    [
        ({"consumed_energy": {}}, None),
        ({}, "event.form"),
        ({"consumed_energy": None}, "event.form"),
        ({"consumed_energy": []}, "event.form"),
        ({"consumed_energy": {"a": 1}}, "event.form"),
        ({"consumed_energy": {}, "b": {}}, "query.unknown"),
    ],
)
def test_queries(version: str, requests: Any, rule: str | None) -> None:
    query = ("QUERY_REQUEST", requests) if version == ONE else ("QUERY", {"requests": requests})
    assert judged(version, said([query]), "energy") == ({rule} if rule else set())
    without = "query.no-energy" if version == FOUR else None  # Batsim 1 answers -1
    assert judged(version, said([query])) == {each for each in (rule or without,) if each}


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        ({"job_id": "x", "estimated_waiting_time": 5}, None),
        ({"job_id": "x", "estimated_waiting_time": 5, "y": 1}, None),
        ({"job_id": "x"}, "event.form"),
        ({"estimated_waiting_time": 5}, "event.form"),
        ({"job_id": 1, "estimated_waiting_time": 5}, "event.form"),
        ({"job_id": "x", "estimated_waiting_time": "5"}, "event.form"),
        (5, "event.form"),
    ],
)
def test_answers(answer: Any, rule: str | None) -> None:
    assert judged(FOUR, said([("ANSWER", {"estimate_waiting_time": answer})])) == ({rule} if rule else set())


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(
    ("when", "rule"),
    [
        (1, None),
        (1e22, None),
        (2e23, "message.time"),
        (1e308, "message.time"),
        (0.000045, "call.past"),
        ("1", "event.form"),
    ],
)
def test_calls(version: str, when: Any, rule: str | None) -> None:
    assert judged(version, said([("CALL_ME_LATER", {"timestamp": when})])) == ({rule} if rule else set())


def test_calls_are_compared_with_the_time_until_which_batsim_waits() -> None:
    late = {"timestamp": 5, "type": "REJECT_JOB", "data": JOB}
    call = {"timestamp": 0, "type": "CALL_ME_LATER", "data": {"timestamp": 4}}
    assert judged(FOUR, said([late, call], now=9)) == {"call.past"}
    assert judged(FOUR, said([call, late], now=9)) == set()


@pytest.mark.parametrize(("now", "is_fatal"), [(1e22, False), (2e23, True), (-1e308, False)])
def test_times_that_batsim_has_to_print(now: float, is_fatal: bool) -> None:
    assert judged(FOUR, said([], now=now)) == ({"message.time"} if is_fatal else set())


@pytest.mark.parametrize(
    ("version", "state", "reason", "rule"),
    [
        (ONE, "RUNNING", "", None),
        (ONE, "RUNNING", "x", "event.form"),
        (ONE, "RUNNING", 1, "event.form"),
        (ONE, "COMPLETED_FAILED", "", "job.state"),
        (ONE, "COMPLETED_KILLED", "x", "job.state"),
        (FOUR, "RUNNING", 1, None),
        (FOUR, "COMPLETED_FAILED", "", "job.state"),
    ],
)
def test_states(version: str, state: str, reason: Any, rule: str | None) -> None:
    change = ("CHANGE_JOB_STATE", {**JOB, "job_state": state, "kill_reason": reason})
    assert judged(version, said([change])) == ({rule} if rule else set())


@pytest.mark.parametrize("state", ["COMPLETED_SUCCESSFULLY", "COMPLETED_KILLED"])
def test_a_job_that_is_executed_cannot_be_said_to_have_ended(state: str) -> None:
    """It would end once more, and Batsim counts how many run."""
    change, runs = (("CHANGE_JOB_STATE", {**JOB, "job_state": each}) for each in (state, "RUNNING"))
    assert judged(ONE, said([EXECUTE, change])) == {"job.state"}
    assert judged(ONE, said([runs, change])) == set()


@pytest.mark.parametrize(
    ("kind", "data", "rule"),
    [
        ("SET_JOB_METADATA", {**JOB, "metadata": "it's, (all) right;"}, None),
        ("SET_JOB_METADATA", {**JOB, "metadata": 'a"b'}, "event.form"),
        ("SET_JOB_METADATA", {**JOB, "metadata": "x", "y": 1}, "event.form"),
        ("SET_JOB_METADATA", {"job_id": "w0!3", "metadata": "x"}, "job.unknown"),
        ("TO_JOB_MSG", {**JOB, "msg": 'a"b'}, None),
        ("TO_JOB_MSG", {**JOB, "msg": {}}, "event.form"),
    ],
)
def test_words_for_jobs(kind: str, data: Any, rule: str | None) -> None:
    assert judged(FOUR, said([(kind, data)])) == ({rule} if rule else set())


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(
    ("reply", "is_fatal"),
    [
        (b'{"now":1,"events":[],"x":"\xff\xfe"}', False),
        (b'{"now":1,"events":[],"x":"\\ud83d\\ude00"}', False),
        (b'{"now":1,"events":[],"x":"\\\\ud83d"}', False),
        (b'{"now":1,"events":[],"x":"\\ud83d"}', True),
        (b'{"now":1,"events":[],"x":"\n"}', True),
        (b'{"now":1,"events":[],"x":1e400}', True),
        (b'{"now":1,"events":[],"x":NaN}', True),
        (b'{"now":1,"events":[],"x":1.}', True),
        (b'{"now":1,"events":[],}', True),
        (b'\xff{"now":1,"events":[]}', True),
        (b'\xef\xbb\xbf{"now":1,"events":[]}', True),
    ],
)
def test_texts(version: str, reply: bytes, is_fatal: bool) -> None:
    assert judged(version, reply) == ({"message.form"} if is_fatal else set())


# What the scheduler brings

PROFILE = {"type": "delay", "delay": 1}
REGISTERED = {"profile": "p", "res": 1, "id": "dyn!5", "walltime": 10, "subtime": 0}


def registered(version: str, job: Any = REGISTERED, profile: Any = PROFILE, job_id: str = "dyn!5") -> set[str]:
    verb = "SUBMIT" if version == ONE else "REGISTER"
    events = [
        (f"{verb}_PROFILE", {"workload_name": "dyn", "profile_name": "p", "profile": profile}),
        (f"{verb}_JOB", {"job_id": job_id, "job": job}),
    ]
    return judged(version, said(events), "dynamic")


@pytest.mark.parametrize(
    ("job_id", "inner", "taken"),
    [
        ("dyn!5", "dyn!5", BOTH),
        ("dyn!5", 5, BOTH),
        ("dyn!5", "5", (FOUR,)),
        ("dyn!5", "dyn!6", ()),
        ("dyn!5", "6", ()),
        ("dyn!5", 6, ()),
        ("dyn!5", "other!5", ()),
        ("dyn!5", 5.0, ()),
        ("dyn!5", None, ()),
        ("dyn!dyn5", "dyn5", ()),
        ("dyn!dyn5", "dyn!dyn5", (FOUR,)),
        ("dyn!x", "x", (FOUR,)),
        ("dyn!a,b", "a,b", ()),
    ],
)
@pytest.mark.parametrize("version", BOTH)
def test_the_two_names_of_a_job_are_the_same(version: str, job_id: str, inner: Any, taken: tuple[str, ...]) -> None:
    assert (registered(version, {**REGISTERED, "id": inner}, job_id=job_id) == set()) is (version in taken)


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(
    ("change", "taken"),
    [
        ({"walltime": -1}, BOTH),
        ({"walltime": 1e-5}, BOTH),
        ({"walltime": 1e-7}, ()),
        ({"walltime": 0}, ()),
        ({"walltime": -2}, ()),
        ({"walltime": "10"}, ()),
        ({"walltime": None}, ()),
        ({"walltime": 2e23}, ()),
        ({"subtime": -5}, BOTH),
        ({"subtime": "0"}, ()),
        ({"res": 0}, BOTH),
        ({"res": -1}, (ONE,)),
        ({"res": 1.0}, ()),
        ({"res": 2**31}, ()),
        ({"res": True}, ()),
        ({"profile": "q"}, ()),
        ({"profile": None}, ()),
        ({"extra": [1, None, {"x": True}]}, BOTH),
        ({"extra": 1e300}, ()),
    ],
)
def test_jobs_that_are_registered(version: str, change: Any, taken: tuple[str, ...]) -> None:
    assert (registered(version, {**REGISTERED, **change}) == set()) is (version in taken)


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(
    ("profile", "taken"),
    [
        ({"type": "delay", "delay": 0.5}, BOTH),
        ({"type": "delay", "delay": 1e-7}, ()),
        ({"type": "delay", "delay": 0}, ()),
        ({"type": "delay", "delay": -1}, ()),
        ({"type": "delay", "delay": "1"}, ()),
        ({"type": "delay", "delay": True}, ()),
        ({"type": "delay"}, ()),
        ({"type": "delay", "delay": 1, "ret": 1}, BOTH),
        ({"type": "delay", "delay": 1, "ret": 1.5}, ()),
        ({"type": "nonsense"}, ()),
        ({"type": 1}, ()),
        ({"type": "msg_par_hg", "cpu": 1, "com": 0}, (ONE,)),
        ({"type": "parallel_homogeneous", "cpu": 1, "com": 0}, (FOUR,)),
        ({"type": "parallel_homogeneous", "cpu": -1, "com": 0}, ()),
        ({"type": "parallel_homogeneous", "cpu": 1}, ()),
        ({"type": "parallel_homogeneous_total", "cpu": 0, "com": 0}, (FOUR,)),
        ({"type": "msg_par", "cpu": [1], "com": [0]}, (ONE,)),
        ({"type": "parallel", "cpu": [1], "com": [0]}, (FOUR,)),
        ({"type": "parallel", "cpu": [1, 1], "com": [0, 0, 0, 0]}, ()),
        ({"type": "parallel", "cpu": [1], "com": []}, ()),
        ({"type": "parallel", "cpu": [], "com": []}, ()),
        ({"type": "parallel", "cpu": [-1], "com": [0]}, ()),
        ({"type": "parallel", "cpu": ["1"], "com": [0]}, ()),
        ({"type": "parallel", "cpu": 1, "com": [0]}, ()),
        ({"type": "composed", "seq": ["p"]}, BOTH),
        ({"type": "composed", "seq": []}, ()),
        ({"type": "composed", "seq": "p"}, ()),
        ({"type": "composed", "seq": [1]}, ()),
        ({"type": "composed", "seq": ["p"], "repeat": 0}, ()),
        ({"type": "composed", "seq": ["p"], "repeat": 1.5}, ()),
        ({"type": "smpi", "trace": "x"}, ()),
        ({"type": "send", "msg": {}}, BOTH),
        ({"type": "send", "msg": "x"}, ()),
        ({"type": "send", "msg": {}, "sleeptime": 0}, ()),
        ({"type": "recv"}, BOTH),
        ({"type": "recv", "regex": 1}, ()),
        ({"type": "recv", "polltime": -1}, ()),
        ({"type": "parallel_homogeneous_pfs", "bytes_to_read": 1}, (FOUR,)),
        ({"type": "parallel_homogeneous_pfs"}, ()),
        ({"type": "parallel_homogeneous_pfs", "bytes_to_read": 1, "storage": 1}, ()),
        ({"type": "data_staging", "nb_bytes": 1, "from": "a", "to": "b"}, BOTH),
        ({"type": "data_staging", "nb_bytes": -1, "from": "a", "to": "b"}, (ONE,)),
        ({"type": "data_staging", "nb_bytes": 1, "from": "a"}, (ONE,)),
    ],
)
def test_profiles_that_are_registered(version: str, profile: Any, taken: tuple[str, ...]) -> None:
    assert (registered(version, profile=profile) == set()) is (version in taken)


def test_registration_that_has_ended() -> None:
    """Batsim 4 looks when it reads a reply, and takes note of a notification when it carries the reply out."""
    job = ("REGISTER_JOB", {"job_id": "dyn!5", "job": REGISTERED})
    profile = ("REGISTER_PROFILE", {"workload_name": "dyn", "profile_name": "p", "profile": PROFILE})
    again, ended = ("NOTIFY", {"type": "continue_registration"}), ("NOTIFY", {"type": "registration_finished"})
    conversation = Conversation(FOUR)
    for message in (old_run(RUNS[FOUR, "dynamic"]).messages[0][1], said([ended, profile]), NOTHING):
        assert conversation.feed(message) == []
    assert {found.rule for found in conversation.feed(said([again, job]))} == {"register.disabled"}
    assert conversation.feed(NOTHING) == []
    assert conversation.feed(said([job])) == []


def test_a_composed_profile_that_was_registered_is_not_executed() -> None:
    profile = {"workload_name": "dyn", "profile_name": "p", "profile": {"type": "composed", "seq": ["p"]}}
    for version, rules in ((ONE, set()), (FOUR, {"job.composed"})):
        verb = "SUBMIT" if version == ONE else "REGISTER"
        events = [
            (f"{verb}_PROFILE", profile),
            (f"{verb}_JOB", {"job_id": "dyn!5", "job": REGISTERED}),
            ("EXECUTE_JOB", {"job_id": "dyn!5", "alloc": "0"}),
        ]
        assert judged(version, said(events), "dynamic") == rules


@pytest.mark.parametrize(
    ("added", "rule"),
    [
        ({"alloc": "0-3", "profile_name": "d"}, None),
        ({"alloc": "70-72", "profile_name": "d"}, None),
        ({"alloc": "0-4", "profile_name": "d"}, "alloc.hosts"),
        ({"alloc": "x", "profile_name": "d"}, "alloc.form"),
        ({"profile_name": "d"}, "event.form"),
        ({"alloc": "0"}, "event.form"),
        ({"alloc": "0", "profile_name": 1}, "event.form"),
        ({"alloc": "0", "profile_name": "nobody"}, "register.profile"),
        ({"alloc": "0", "profile_name": "new", "profile": PROFILE}, None),
        ({"alloc": "0", "profile_name": "d", "profile": PROFILE}, "register.twice"),
        ({"alloc": "0", "profile_name": "new", "profile": {"type": "delay"}}, "register.profile"),
        ({"alloc": "0", "profile_name": "new", "profile": "x"}, "event.form"),
        ([], "event.form"),
    ],
)
def test_what_is_merged_into_a_job(added: Any, rule: str | None) -> None:
    execute = ("EXECUTE_JOB", {**JOB, "alloc": "0", "additional_io_job": added})
    assert judged(FOUR, said([execute])) == ({rule} if rule else set())


def test_jobs_on_any_number_of_hosts() -> None:
    begins = json.loads(old_run(RUNS[FOUR, ""]).messages[0][1])
    profiles = begins["events"][0]["data"]["profiles"].setdefault("w0", {})
    spread = {"type": "parallel_homogeneous_total", "cpu": 1, "com": 0}
    profiles.update(
        {"s": spread, "c": {"type": "composed", "seq": ["s", "s"]}, "m": {"type": "composed", "seq": ["s", "d"]}}
    )
    for profile, rules in (("s", set()), ("c", set()), ("m", {"alloc.size"}), ("d", {"alloc.size"})):
        conversation = Conversation(FOUR)
        submitted = SUBMITTED.replace(b'"profile": "d"', b'"profile": "%s"' % profile.encode())
        for message in (json.dumps(begins).encode(), NOTHING, submitted):
            assert conversation.feed(message) == []
        found = conversation.feed(said([("EXECUTE_JOB", {**JOB, "alloc": "0-2"})]))
        assert {violation.rule for violation in found} == rules


def test_a_host_stays_busy_until_its_job_has_ended() -> None:
    conversation = Conversation(FOUR)
    completed = {"job_id": "w0!1", "job_state": "COMPLETED_SUCCESSFULLY", "return_code": 0, "alloc": "0"}
    second = ("EXECUTE_JOB", {"job_id": "w0!2", "alloc": "0-1"})
    for message in (old_run(RUNS[FOUR, ""]).messages[0][1], NOTHING, SUBMITTED, said([EXECUTE]), WIDE):
        assert conversation.feed(message) == []
    assert {found.rule for found in conversation.feed(said([second]))} == {"alloc.busy"}
    assert conversation.feed(said([("JOB_COMPLETED", completed)])) == []
    assert conversation.feed(said([second])) == []
    assert conversation.feed(NOTHING) == []
    late = [("KILL_JOB", {"job_ids": ["w0!1"]}), ("SET_JOB_METADATA", {**JOB, "metadata": "x"})]
    assert [found.rule for found in conversation.feed(said(late))] == ["job.forgotten"] * 2
