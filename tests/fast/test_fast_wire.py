"""FaST's payloads: what fast-lib wrote and read, all that can be said in both dialects, and what is wrong where."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from fast_oracle import Golden, goldens, read, tree_of_verdict, value_of, verdicts
from hypothesis import example, given, settings
from hypothesis import strategies as st

from batprotocol.errors import DecodeError, EncodeError
from batprotocol.fast import Topic, TopicKind, topic_for
from batprotocol.fast import strategies as fast
from batprotocol.fast import values as v
from batprotocol.fast.topics import MESSAGES, ROUTES, route_of
from batprotocol.fast.wire import DIALECTS, Dialect, decode, decode_alone, decode_as, encode, from_json, to_json

WITHOUT_ENGINE = True

TASK = "fast/migfra/node-a/task"
RESULT = "fast/migfra/node-a/result"
ALONE = ("migfra::Migrate", "migfra::Repin", "migfra::Evacuate")
"""What fast-lib also writes without its container, and so without `task`."""


def written(golden: Golden) -> bytes:
    """What we write of what a golden was made of."""
    lines = encode(value_of(golden)).split(b"\n")
    return b"\n".join(line for line in lines if golden.cls not in ALONE or not line.startswith(b"task: "))


def as_read(value: Any) -> Any:
    """What is read again of what is written. Options of `quit` go below `list`, and come from beside it."""
    if isinstance(value, v.Quit):
        return msgspec.structs.replace(value, list=[v.TaskOptions(concurrent_execution=value.concurrent_execution)])
    return value


# What fast-lib says


@pytest.mark.parametrize("cls", sorted({golden.cls for golden in goldens()}))
def test_goldens_are_read_and_written_byte_for_byte(cls: str) -> None:
    for golden in [each for each in goldens() if each.cls == cls]:
        value = value_of(golden)
        if golden.is_broken:
            assert written(golden) != golden.payload, golden.name
            again = Golden(golden.name, golden.cls, golden.topic, written(golden), golden.fields)
            assert read(again) == value or math.isnan(value.result), golden.name
        else:
            assert read(golden) == as_read(value), golden.name
            assert written(golden) == golden.payload, golden.name


def test_few_goldens_are_broken() -> None:
    broken = [golden.name for golden in goldens() if golden.is_broken]
    assert 0 < len(broken) < len(goldens()) / 15


def test_verdicts_agree() -> None:
    """Whether it is accepted, and what is read: all of them, so that none of the 1% that may differ does."""
    different = []
    for verdict in verdicts():
        try:
            message = read(verdict)
        except DecodeError:
            message = None
        tree = tree_of_verdict(message) if message is not None else None
        if verdict.cls in ALONE and tree is not None:
            tree = tree["tasks"][0]
        if (message is not None) != verdict.accepted or tree != verdict.parsed:
            different.append((verdict.note, verdict.payload, tree, verdict.parsed))
    assert different == []


# All that can be said


@pytest.mark.parametrize("cls", MESSAGES.values(), ids=MESSAGES)
def test_each_message_survives_both_dialects_and_json(cls: type[v.FastMessage]) -> None:
    @settings(max_examples=settings().max_examples // 4)
    @given(fast.messages(cls), st.sampled_from(DIALECTS))
    def round_trip(message: v.FastMessage, dialect: Dialect) -> None:
        data = encode(message, dialect=dialect)
        assert decode_as(cls, data, dialect=dialect) == message
        assert decode_as(cls, data, dialect="any") == message
        assert from_json(to_json(message)) == message
        for route in ROUTES:
            if route.message is cls:
                assert decode(data, route.channel.topic("node-a", "42"), dialect=dialect) == message

    round_trip()


@given(st.floats(allow_nan=True))
@example(math.nan)
@example(-0.0)
def test_doubles_have_16_digits_as_fast_lib_writes_and_all_elsewhere(value: float) -> None:
    message = v.MmbwmonResponse([0], value)
    exact = decode_as(v.MmbwmonResponse, encode(message, dialect="specification"), dialect="specification")
    near = decode_as(v.MmbwmonResponse, encode(message))
    again = from_json(to_json(message))
    assert isinstance(again, v.MmbwmonResponse)
    if math.isnan(value):
        assert all(math.isnan(each.result) for each in (exact, near, again))
    else:
        assert exact == again == message
        shorter = float(f"{value:.16g}")
        assert near.result == (value if math.isinf(shorter) else shorter)


def test_what_a_program_does_not_tell_apart_is_one_value() -> None:
    assert v.Result("quit", id="") == v.Result("quit")
    assert v.MigrateVM("a", "b", v.MigrateParameter()) == v.MigrateVM("a", "b")
    assert v.VMConfiguration("a", pci_ids=[], pci_addrs=()) == v.VMConfiguration("a")
    assert v.RepinVM("a", [[0], range(1, 3)]).vcpu_map == ((0,), (1, 2))


def test_a_payload_without_a_topic_is_recognised() -> None:
    """But for acknowledgements and stops of mmbwmon, which look alike, and words, which look like nothing."""
    alike = {v.MmbwmonRestart: v.MmbwmonStop, v.MmbwmonRestartAck: v.MmbwmonStopAck}

    @given(fast.messages())
    def recognise(message: v.FastMessage) -> None:
        if not isinstance(message, v.PscomRequest | v.PscomResponse):
            found = decode_alone(encode(message))
            assert type(found) is alike.get(type(message), type(message))

    recognise()
    with pytest.raises(DecodeError, match="no message has the keys 'a', 'b'"):
        decode_alone(b"a: 1\nb: 2")


def test_json_shows_which_message_it_is() -> None:
    message = v.StartVM([v.VMConfiguration("vm1", vcpus=4, pci_ids=[v.PCIId(0x15B3, 0x1004)])], id="7")
    assert to_json(message) == (
        '{"message": "StartVM", "vm-configurations": [{"vm-name": "vm1", "vcpus": 4, '
        '"pci-ids": [{"vendor": 5555, "device": 4100}]}], "id": "7"}'
    )
    assert to_json(message, 1).startswith('{\n "message": "StartVM",\n')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1, column 2: this is not JSON: Expecting property name"),
        ("[]", "message: expected the name of a message, found None"),
        ('{"message": "StartVMs"}', "message: expected the name of a message, found 'StartVMs'"),
        ('{"message": ["Quit"]}', "message: expected the name of a message"),
        ('{"message": "Quit", "id": 7}', "id: Expected `str | null`, got `int`"),
        ('{"message": "Quit", "ids": "7"}', "Object contains unknown field `ids`"),
        ('{"message": "MmbwmonRequest", "cores": [1, -1]}', "cores[1]: Expected `int` >= 0"),
        ("[" * 100_000, "this is not JSON"),
        ("9" * 10_000, "this is not JSON"),
    ],
)
def test_json_that_is_wrong_is_told_where(text: str, said: str) -> None:
    with pytest.raises(DecodeError) as caught:
        from_json(text)
    assert str(caught.value).startswith(said)


# What is wrong, and where


@pytest.mark.parametrize(
    ("payload", "path", "line", "column", "reason"),
    [
        (
            b"task: start vm\nvm-configurations:\n- vm-name: a\n- pci-ids:\n  - vendor: xyz\n    device: 1\n",
            "vm-configurations[1].pci-ids[0].vendor",
            5,
            13,
            "expected a number, such as 0x15b3, found 'xyz'",
        ),
        (b"task: stop vm\nlist: a\n", "list", 2, 7, "expected a list, found 'a'"),
        (b"task: suspend vm\nlist:\n- {}\n", "list[0]", 3, 3, "the key 'vm-name' is missing"),
        (b"task: suspend vm\nlist:\n- {vm-name: }\n", "list[0].vm-name", 3, 13, "expected a text, found nothing"),
        (
            b"task: repin vm\nvm-name: a\nvcpu-map: [[0], [1, x]]\n",
            "vcpu-map[1][1]",
            3,
            21,
            "expected a number in [0, 4294967295], found 'x'",
        ),
        (b"task: fly vm\n", "task", 1, 1, "there is no such task as 'fly vm'"),
        (b"hello", "", 1, 1, "expected a key 'task' with the kind of the message"),
        (b"task: quit: x\n", "", 1, 11, "mapping values are not allowed in this context"),
        (b"a: [b\n", "", 2, 1, "while parsing a flow sequence: did not find expected ',' or ']'"),
        (b"task: \x00\n", "", 1, 7, "expected a text, found the character '\\x00'"),
        (b"task: *a\n", "", 1, 7, "there is no anchor 'a' before"),
    ],
)
def test_a_fault_has_its_line_column_and_path(payload: bytes, path: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(payload, TASK)
    error = caught.value
    assert (error.path, error.line, error.column, error.reason) == (path, line, column, reason)
    assert str(error) == f"{path}{', ' if path else ''}line {line}, column {column}: {reason}"


@pytest.mark.parametrize(
    ("message", "path", "reason"),
    [
        (v.StartVM([v.VMConfiguration("a", vcpus=-1)]), "vm-configurations[0].vcpus", "expected a number in [0, "),
        (v.StartVM([v.VMConfiguration("a", memory=2**64)]), "vm-configurations[0].memory", "expected a number in [0, "),
        (v.StartVM([v.VMConfiguration("a", transient=1)]), "vm-configurations[0].transient", "expected a boolean, "),  # type: ignore[arg-type]
        (v.StartVM([v.VM("a")]), "vm-configurations[0]", "expected a VMConfiguration, got VM("),  # type: ignore[list-item]
        (
            v.StartVM([v.VMConfiguration(pci_ids=[v.PCIId(65536, 0)])]),
            "vm-configurations[0].pci-ids[0].vendor",
            "expected",
        ),
        (
            v.StartVM([v.VMConfiguration(pci_addrs=[v.PCIAddress(256, 0, 0)])]),
            "vm-configurations[0].devs[0].bus",
            "expec",
        ),
        (v.RepinVM("a", [[0], [True]]), "vcpu-map[1][0]", "expected a number in [0, 4294967295], got True"),
        (v.RepinVM("a", 3), "vcpu-map", "expected a list, got 3"),  # type: ignore[arg-type]
        (v.SuspendVM([v.VM("\ud800")]), "list[0].vm-name", "expected Unicode"),
        (v.SuspendVM("ab"), "list", "expected a list, got 'ab'"),  # type: ignore[arg-type]
        (v.Result("vm migrated", []), "list", "expected one entry, as 'vm migrated' is the result for one machine"),
        (v.Init(None), "hostname", "expected a text, got None"),  # type: ignore[arg-type]
        (v.InitAgent(v.KPIConfiguration({"a": 1}, 1)), "KPI.categories['a']", "expected a text, got 1"),  # type: ignore[dict-item]
        (v.InitAgent(v.KPIConfiguration({"a" * 1001: "1"}, 1)), "", "expected a key of at most 1,000 characters"),
        (v.MmbwmonResponse([0], 10**400), "result", "expected a number that a double can hold"),
        (v.PscomResponse("4 : ALLOWED"), "state", "expected words that are read as they are written"),
        (v.PscomResponse("ALLOWED", -1), "process", "expected a number in [0, 4294967295] or None"),
        (v.PscomRequest(" suspend"), "task", "expected words that are read as they are written"),
        (v.SuspendVM([v.VM("a" * 2**22)]), "", "expected a message of at most 4,194,304 bytes"),
        ("quit", "", "expected a message, got 'quit'"),
    ],
)
def test_a_value_that_cannot_be_written_is_told_where(message: v.FastMessage, path: str, reason: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode(message)
    assert caught.value.path == path
    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize(
    ("topic", "payload", "hint"),
    [
        ("fast/agent/a/status", b"task: init\nsource: a", "'source' is that of the dialect 'specification'"),
        (
            "fast/agent/a/mmbwmon/response",
            b"cores: [0]\nresponse: 1",
            "'response' is that of the dialect 'specification'",
        ),
    ],
)
def test_who_spells_as_specified_is_told_so(topic: str, payload: bytes, hint: str) -> None:
    with pytest.raises(DecodeError, match=hint):
        decode(payload, topic)
    assert decode(payload, topic, dialect="specification") == decode(payload, topic, dialect="any")


def test_there_are_three_ways_to_read_and_two_to_write() -> None:
    with pytest.raises(ValueError, match="there is no dialect 'yaml', only 'fastlib', 'specification', 'any'"):
        decode(b"task: quit", TASK, dialect="yaml")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there is no dialect 'any', only 'fastlib', 'specification'"):
        encode(v.Quit(), dialect="any")  # type: ignore[arg-type]


# Agents and pscom


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"task: init\nhostname: a", v.Init("a")),
        (b"task: KPI\nhostname: a", v.Init("a")),  # fast-lib does not look at the task
        (b"task: configuration\nsource: a\nstatus: accepted", v.Configuration("a", "accepted")),
        (b"task: KPI\nsource: a\nKPIS:\n- x: 1\n- y: high", v.KPI("a", {"x": "1", "y": "high"})),
    ],
)
def test_what_agents_say_is_told_apart(payload: bytes, message: v.FastMessage) -> None:
    assert decode(payload, "fast/agent/a/status") == message


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"4242 : ALLOWED\0\0", v.PscomResponse("ALLOWED", 4242)),
        (b"4242 : COMPLETED", v.PscomResponse("COMPLETED", 4242)),
        (b"yes", v.PscomResponse("yes")),
        (b"", v.PscomResponse("")),
        (b"99999999999 : ALLOWED", v.PscomResponse("99999999999 : ALLOWED")),
        (b"\xff", v.PscomResponse("\ufffd")),
    ],
)
def test_whatever_pscom_says_is_an_answer(payload: bytes, message: v.FastMessage) -> None:
    assert decode(payload, "fast/pscom/vm1/4242/response") == message


def test_requests_to_pscom_are_words_or_yaml() -> None:
    topic = TopicKind.PSCOM_REQUEST.topic("vm1", v.ANY_PROCESS)
    assert encode(v.PscomRequest(v.SUSPEND)) == b"suspend"
    assert encode(v.PscomRequest(v.SUSPEND), dialect="specification") == b"task: suspend\n"
    for payload in (b"suspend", b"task: suspend", b"---\ntask: suspend\n"):
        assert decode(payload, topic, dialect="any") == v.PscomRequest("suspend")
    assert decode(b"*", topic) == v.PscomRequest("*")


def test_every_message_has_a_way() -> None:
    for cls in MESSAGES.values():
        if cls is v.SystemInfo:
            with pytest.raises(EncodeError, match="not a message with a topic"):
                route_of(cls)
        else:
            assert isinstance(topic_for(cls, "node-a", "1"), Topic)


# Numbers as fast-lib's types hold them


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:82:1f.7", (0, 0x82, 0x1F, 7)),
        ("82:1f.7", (0, 0x82, 0x1F, 7)),
        ("82:00", (0, 0x82, 0, 0)),  # without a point, the device is the function, too
        ("82:1f", (0, 0x82, 0x1F, 0x1F)),
        ("1:82:1f", (1, 0x82, 0x1F, 0x1F)),
        ("0:82:0.1", (0, 0x82, 0, 1)),
        ("0x0:0x82:0x1f.0x7", (0, 0x82, 0x1F, 7)),
        ("0xg:82:0.1", (0, 0x82, 0, 1)),
        ("12345:182:11f.107", (0x2345, 0x82, 0x1F, 7)),
        ("-1:-1:-1.-1", (0xFFFF, 0xFF, 0xFF, 0xFF)),
        ("+1: 2:3z.4 and more", (1, 2, 3, 4)),
        ("82:0.1.5", (0, 0x82, 0, 1)),
        ("82", None),
        ("0:0:82:0.1", None),
        ("82:", None),
        (":82.0", None),
        ("82:.1", None),
        ("82:1.", None),
        ("x:82:0.1", None),
        ("82:1.10000000000000000", None),
        ("82:1.ffffffffffffffff", (0, 0x82, 1, 0xFF)),
    ],
)
def test_addresses_of_pci_devices(text: str, address: tuple[int, int, int, int] | None) -> None:
    payload = msgspec.json.encode({"pci-addr": text})
    if address is None:
        with pytest.raises(DecodeError) as caught:
            decode_as(v.PCIAddress, payload)
        assert caught.value.path == "pci-addr"
    else:
        domain, bus, device, funct = address
        assert decode_as(v.PCIAddress, payload) == v.PCIAddress(bus, device, funct, domain)


def test_cores_are_numbers_of_64_bits() -> None:
    message = decode_as(v.MmbwmonRequest, b"cores: [-1, 4294967296]")
    assert message == v.MmbwmonRequest([2**64 - 1, 2**32])
    assert decode_as(v.MmbwmonRequest, encode(message)) == from_json(to_json(message)) == message
    info = decode_as(v.SystemInfo, b"threads: -1\nsmt: 2\nnuma: 4294967296\nbandwidth: []")
    assert (info.threads, info.numa) == (2**64 - 1, 2**32)
    with pytest.raises(DecodeError):
        decode_as(v.MmbwmonRequest, b"cores: [18446744073709551616]")


@pytest.mark.parametrize(
    ("said", "options"),
    [
        (
            "list:\n  - concurrent-execution: true\nconcurrent-execution: false",
            v.TaskOptions(concurrent_execution=False),
        ),
        ("list:\n  - concurrent-execution: true", v.TaskOptions()),
        ("list: anything\ntime-measurement: yes", v.TaskOptions(time_measurement=True)),
        ("driver: lxctools", v.TaskOptions(driver="lxctools")),
    ],
)
def test_the_options_of_quit_stand_beside_its_list(said: str, options: v.TaskOptions) -> None:
    message = decode(f"task: quit\n{said}".encode(), TASK)
    assert isinstance(message, v.Quit)
    assert (message.list, message.concurrent_execution) == ((options,), options.concurrent_execution)


def test_quit_with_wrong_options_is_none() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(b"task: quit\ntime-measurement: maybe", TASK)
    assert caught.value.path == "time-measurement"
