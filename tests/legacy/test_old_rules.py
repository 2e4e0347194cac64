"""The rules of the older protocols against what real Batsims made of odd replies and of whole runs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from commands import run_here
from old_runs import CORPUS, OldRun, conversation_of, old_run, old_runs, text_verdicts, verdicts

from batprotocol.legacy.conversation import (
    CATALOGUE,
    RULE_SETS,
    Conversation,
    OldAdviser,
    check,
    rule_set_for,
    rule_set_of,
)

WITHOUT_ENGINE = True
NOTHING = b'{"now":0,"events":[]}'
SUBMITTED = json.dumps(
    {
        "now": 0.000045,
        "events": [
            {
                "timestamp": 0.000045,
                "type": "JOB_SUBMITTED",
                "data": {
                    "job_id": "w0!1",
                    "job": {"id": "w0!1", "subtime": 0, "walltime": 100, "res": 1, "profile": "d"},
                },
            }
        ],
    }
).encode()
BEGINS = {
    "v1.4.0": ("v1.4.0__killlate__killend__1s", "v1.4.0__energy__energy__E", "v1.4.0__dyn__late__noack"),
    "v4.2.1": ("fillerSched__test_delays__default", "energy__energy__E", "dyn__empty__noack"),
}
"""The runs whose first message a verdict's Batsim would send: as it is, with energy, and with dynamic jobs."""

# Where Batsim did not survive what was not the fault of the reply: the script left the job waiting for ever.
LEFT_WAITING = {
    "SET_RESOURCE_STATE/state_12abc",
    *(
        f"SUBMIT_JOB/{case}"
        for case in ("ok", "id_int", "walltime_-1", "subtime_future", "static_workload_profile", "with_inline_profile")
    ),
}


def begins(version: str, case: str) -> bytes:
    plain, energy, dynamic = BEGINS[version]
    if case.startswith(("REGISTER_JOB", "SUBMIT_JOB")) and not case.endswith("disabled"):
        return old_run(dynamic).messages[0][1]
    needs_energy = "energy" in case or case.startswith("QUERY")
    return old_run(energy if needs_energy and "no_energy" not in case else plain).messages[0][1]


def frames(reply: str) -> list[bytes]:
    """The frames of a verdict's reply."""
    found: Any = reply.encode()
    if reply.startswith(("b'", 'b"', "[b")):
        try:
            found = ast.literal_eval(reply)
        except SyntaxError:  # the record was cut
            found = b"\xff\xfe{\0"
    parts = found if isinstance(found, list) else [found]
    names = ((b"@NOW@", b"0.000045"), (b"@JOB@", b"w0!1"), (b"@W@", b"w0"))
    for name, value in names:
        parts = [part.replace(name, value) for part in parts]
    return list(parts)


CASES = [
    pytest.param(version, verdict, id=f"{version}-{verdict['case']}")
    for version in BEGINS
    for verdict in verdicts(version)
]


@pytest.mark.parametrize(("version", "verdict"), CASES)
def test_the_verdict_is_foreseen(version: str, verdict: dict[str, Any]) -> None:
    conversation = Conversation(f"batsim-{version[1:]}")
    for message in (begins(version, verdict["case"]), NOTHING, SUBMITTED):
        assert conversation.feed(message) == []
    found = conversation.feed(*frames(verdict["reply"]))
    is_fatal = any(violation.is_fatal for violation in found)
    if verdict["outcome"] == "accepted":
        assert not is_fatal, found
    elif version == "v1.4.0" and verdict["case"] in LEFT_WAITING:
        assert found
        assert not is_fatal
    else:
        assert is_fatal


def test_more_than_95_percent_of_the_verdicts_are_foreseen() -> None:
    aborted = sum(verdict["outcome"] != "accepted" for version in BEGINS for verdict in verdicts(version))
    assert 1 - len(LEFT_WAITING) / aborted > 0.95


@pytest.mark.parametrize("run", [run for run in old_runs() if run.messages], ids=lambda run: run.name)
def test_runs_are_judged_as_they_ended(run: OldRun) -> None:
    messages = [data for _, data in run.messages]
    assert rule_set_of(messages[0]) == f"batsim-{run.version[1:]}"
    found = check(messages)
    if run.is_clean:
        assert found == []
    for violation in found:  # what is said to be fatal is in the last message of the scheduler
        assert violation.message == len(messages) - 1 or not violation.is_fatal


def test_what_goes_wrong_in_runs_is_told_where_the_messages_tell() -> None:
    """The others crashed for what only Batsim knows: workflows, kills of nested tasks, mappings of replays."""
    ended = {run.name: check([data for _, data in run.messages]) for run in old_runs() if "abort" in run.result}
    foreseen = {name: {violation.rule for violation in found} for name, found in ended.items() if found}
    assert foreseen == {
        "batsched-random__delays__default": {"alloc.busy"},
        "changestate__test_delays__kill_reason": {"job.state"},
        "changestate__test_delays__rejected": {"job.state"},
        "dyn__empty__composed_crash": {"job.composed"},
        "dyn__empty__early_continue": {"register.disabled"},
        "dyn__empty__noack_profile_gc": {"register.job", "job.unknown"},
        "killafter__killend__at5": {"job.forgotten"},
        "killafter__test_long_workload__3s": {"call.past"},
        "v1.4.0__energy__energy__E_asdoc": {"query.unknown"},
    }


def test_each_rule_is_broken_by_a_verdict_a_run_or_here() -> None:
    broken = {violation.rule for run in old_runs() for violation in check([data for _, data in run.messages])}
    for version in BEGINS:
        for verdict in verdicts(version):
            conversation = Conversation(f"batsim-{version[1:]}")
            for message in (begins(version, verdict["case"]), NOTHING, SUBMITTED):
                conversation.feed(message)
            broken |= {violation.rule for violation in conversation.feed(*frames(verdict["reply"]))}
    for version in range(4):
        for verdict in text_verdicts(version):
            broken |= {violation.rule for violation in conversation_of(version, verdict)[1]}
    assert set(CATALOGUE.rules) - broken <= set(MORE)


def reply(*events: tuple[float, str, dict[str, Any]]) -> bytes:
    said = [{"timestamp": time, "type": kind, "data": data} for time, kind, data in events]
    return json.dumps({"now": 1.0, "events": said}).encode()


PROFILE = {"workload_name": "d", "profile_name": "p", "profile": {"type": "delay", "delay": 1}}
MORE: dict[str, list[bytes]] = {
    "message.order": [reply((1.0, "REJECT_JOB", {"job_id": "w0!1"}), (0.5, "CALL_ME_LATER", {"timestamp": 9}))],
    "job.not-submitted": [reply(*[(1.0, "EXECUTE_JOB", {"job_id": "w0!1", "alloc": "0"})] * 2)],
    "hosts.busy": [
        reply(
            (0.0, "EXECUTE_JOB", {"job_id": "w0!1", "alloc": "0"}),
            (0.0, "SET_RESOURCE_STATE", {"resources": "0", "state": "13"}),
        ),
    ],
    "register.twice": [reply(*[(1.0, "REGISTER_PROFILE", PROFILE)] * 2)],
    "batsim.odd": [NOTHING, reply((1.0, "JOB_COMPLETED", {"job_id": "w0!9"}))],
}  # fmt: skip


@pytest.mark.parametrize("rule", MORE)
def test_what_the_verdicts_leave_out(rule: str) -> None:
    conversation = Conversation("batsim-4.2.1")
    second = SUBMITTED.replace(b"w0!1", b"w0!2")
    run = old_run("energy__energy__E" if rule == "hosts.busy" else "dyn__empty__noack")
    for message in (run.messages[0][1], NOTHING, SUBMITTED, NOTHING, second):
        assert conversation.feed(message) == []
    assert rule in {violation.rule for message in MORE[rule] for violation in conversation.feed(message)}


# Text


@pytest.mark.parametrize(
    ("said", "rules"),
    [
        (b"3:10|10:J:w!1=0-3;w!2=4", []),
        (b"3:10|10:R:w!1|10:n:20", []),
        (b"3:10|10:J:w!3=0", ["job.unknown"]),
        (b"3:10|10:J:w!1=0|10:R:w!1", ["job.not-submitted"]),
        (b"3:10|10:n:5", ["call.past"]),
        (b"3:10|11:N", []),
        (b"3:0|11:n:20", []),
        (b"3:10|4:n:20", ["message.time"]),
        (b"3:10|9:R:w!1|8:R:w!2", ["message.order"]),
        (b"3:10|10:X", ["message.form"]),
        (b"whatever|10:N", ["message.odd"]),
        (b"3:10|10:S:w!3", ["event.unknown"]),
        (b"3:10|10:J:w!1=0,0", ["alloc.twice"]),
        (b"3:10|10:J:w!1=0;w!2=0", ["alloc.shared"]),
        (b"3:10|1e300:R:w!1", ["message.time"]),
    ],
)
def test_conversations_in_text(said: bytes, rules: list[str]) -> None:
    conversation = Conversation()
    assert conversation.feed(b"3:0|0:A") == []
    assert conversation.feed(b"3:0|0:N") == []
    assert conversation.feed(b"3:5|5:S:w!1|5:S:w!2") == []
    assert [violation.rule for violation in conversation.feed(said)] == rules
    assert conversation.state.rule_set == "text-3"


def test_rule_sets_have_names() -> None:
    assert rule_set_for((4, 2)) == "batsim-4.2.1"
    assert tuple(CATALOGUE.rule_sets) == RULE_SETS
    with pytest.raises(ValueError, match="no rule set"):
        Conversation("batsim-6")


def test_whatever_is_said_is_judged() -> None:
    """No bytes raise anything, and what comes after them is judged."""
    for run in old_runs()[::9]:
        conversation = Conversation()
        for number, (_, data) in enumerate(run.messages[:12]):
            conversation.feed(data[: len(data) * number // 12])


# The command


def test_the_command_finds_out_the_protocol(tmp_path: Path) -> None:
    good, bad = (str(CORPUS / f"{name}.tar.xz") for name in ("redis__test_delays__default", "killafter__killend__at5"))
    done = run_here("check", good, bad)
    assert done.status == 1
    assert "[job.forgotten]" in done.out
    assert done.out.splitlines()[-1] == "2 conversations, 1 of them bad"
    assert run_here("check", "--rules", "batsim-1.4.0", bad).status == 0
    assert run_here("check", "--rules", "protocol", good).status == 1
    shown = run_here("dump", "-e", "EXECUTE_JOB", bad)
    assert "JSON of Batsim 1 to 4, scheduler to Batsim" in shown.out
    assert shown.out.count("EXECUTE_JOB") == 3
    assert run_here("validate", good, bad).status == 0
    (tmp_path / "message").write_bytes(b"3:10.5|10:J:w0!1=0-2|10.5:N")
    text = run_here("dump", str(tmp_path / "message"))
    assert "J JobAllocation at 10.0" in text.out
    converted = run_here("convert", str(tmp_path / "message"), "-")
    assert json.loads(converted.out)["events"][0]["allocations"] == [{"job_id": "w0!1", "machines": "0-2"}]
    (tmp_path / "message").write_bytes(b"3:10.5|10:J:w0!1=")
    assert run_here("validate", str(tmp_path / "message")).status == 1
    lines = run_here("dump", "--json-lines", good).out.splitlines()
    assert [json.loads(line) for line in lines] == [
        json.loads(data) for _, data in old_run("redis__test_delays__default").messages
    ]


def test_the_command_tells_the_fields_of_each_version() -> None:
    four = run_here("schema", "--protocol", "4.2", "execute_job").out
    assert "storage_mapping: object (since 3.0)" in four
    one = run_here("schema", "--protocol", "1.4", "EXECUTE_JOB").out
    assert "storage_mapping" not in one
    assert "SUBMIT_JOB" not in run_here("schema", "--protocol", "4.2").out
    assert "WLOAD!JID1=MID1" in run_here("schema", "--protocol", "text-3", "J").out
    assert "content: JID1=MID1" in run_here("schema", "--protocol", "text-1", "J").out
    assert run_here("schema", "--protocol", "text-0", "R").status == 2
    assert "no Batsim that uses text sends it" in run_here("schema", "--protocol", "text-3", "Q").out
    assert run_here("schema", "--protocol", "9", "J").status == 2


@pytest.mark.parametrize("garbage", [b"", b"{", b"\xff\xff", b"3:nothing"])
@pytest.mark.parametrize("place", range(4))
def test_advice_ends_with_what_cannot_be_read(garbage: bytes, place: int) -> None:
    """What is known before it counts, and nothing after it."""
    said = [b"3:5.0|5.0:S:1", b"3:5.0|5.0:N", b"3:9.0|9.0:Z"]
    adviser = OldAdviser()
    for each in [*said[:place], garbage, *said[place:]]:
        adviser.feed(each)
    found = [str(each) for each in adviser.finish()]
    whole = "until the end at 9, the scheduler never executed, rejected or killed job '1', submitted at 5"
    assert [text.partition(" [")[0] == whole for text in found] == ([True] if place == 3 else [False] * len(found))
