"""The two frames of the handshake, and finding out what some bytes are."""

from __future__ import annotations

import struct
from itertools import product
from typing import Any

import pytest
from engines import each_engine
from hypothesis import given
from hypothesis import strategies as st

from batprotocol import wire
from batprotocol.errors import DecodeError, EncodeError
from batprotocol.model import EDCHelloEvent, Message, SimulationEndsEvent
from batprotocol.testing import strategies as bat
from batprotocol.wire import frames

HELLO = Message(
    0.0, (EDCHelloEvent(batprotocol_version="1", decision_component_name="n", decision_component_version="v"),)
)


# Message 0


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_goes_into_the_init_frame(text: str) -> None:
    frame = frames.encode_init(text)
    assert frame[:4] == len(text.encode()).to_bytes(4, "little")
    assert frame[4:] == text.encode()
    for form in (frame, bytearray(frame), memoryview(frame)):
        assert frames.decode_init(form) == text


@given(st.binary())
def test_any_bytes_come_out_of_the_init_frame_and_go_back(data: bytes) -> None:
    frame = len(data).to_bytes(4, "little") + data
    assert frames.encode_init(frames.decode_init(frame)) == frame


def test_the_empty_init_frame() -> None:
    assert frames.encode_init("") == bytes(4)
    assert frames.decode_init(bytes(4)) == ""


@pytest.mark.parametrize(
    ("frame", "reason", "offset"),
    [
        (b"", "expected a size of 4 bytes, found 0 bytes", 0),
        (b"\x01\0\0", "expected a size of 4 bytes, found 3 bytes", 3),
        (b"\x03\0\0\0hi", "the size says 3 bytes of initialization data, 2 are there", 0),
        (b"\x01\0\0\0hi", "the size says 1 bytes of initialization data, 2 are there", 0),
        (b"\xff\xff\xff\xff", "the size says 4294967295 bytes of initialization data, 0 are there", 0),
    ],
)
def test_broken_init_frames(frame: bytes, reason: str, offset: int) -> None:
    with pytest.raises(DecodeError) as refused:
        frames.decode_init(frame)
    assert (refused.value.reason, refused.value.path, refused.value.offset) == (reason, "", offset)


@pytest.mark.parametrize("text", [b"hi", None, 5, "\ud800"])
def test_what_is_no_initialization_data(text: Any) -> None:
    with pytest.raises(EncodeError):
        frames.encode_init(text)


# Message 1


@given(bat.edc_hello_events(), st.sampled_from(("binary", "json")), bat.float64s())
def test_hellos_survive(event: EDCHelloEvent, format: str, now: float) -> None:
    message = Message(now, (event,))
    for _ in each_engine():
        frame = frames.encode_hello(message, format, allow_late_events=True)
        assert frame[:4] == {"binary": b"\x01\0\0\0", "json": b"\x02\0\0\0"}[format]
        for form in (frame, bytearray(frame), memoryview(frame)):
            assert frames.decode_hello(form) == (frame[0], format, message)
            assert wire.decode(form) == message


@pytest.mark.parametrize("flags", [0, 1, 2, 3, 4, 6, 0xFFFFFFFF, 0xFFFFFFFD])
def test_one_bit_of_the_flags_tells_the_format(flags: int) -> None:
    """As Batsim reads it."""
    format = "json" if flags & 2 else "binary"
    frame = flags.to_bytes(4, "little") + frames.encode_hello(HELLO, format)[4:]
    assert frames.decode_hello(frame) == (flags, format, HELLO)


def test_the_format_is_binary_unless_told_otherwise() -> None:
    assert frames.encode_hello(HELLO) == frames.encode_hello(HELLO, "binary")


@pytest.mark.parametrize(
    ("message", "format", "path"),
    [
        (HELLO, "xml", "format"),
        (HELLO, None, "format"),
        (Message(0.0), "binary", "events"),
        (Message(0.0, HELLO.events * 2), "binary", "events"),
        (Message(0.0, (SimulationEndsEvent(),)), "json", "events"),
        (None, "binary", "events"),
        (HELLO.events[0], "binary", "events"),
        (Message("now", HELLO.events), "json", "now"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_first_message(message: Any, format: Any, path: str) -> None:
    with pytest.raises(EncodeError) as refused:
        frames.encode_hello(message, format)
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("frame", "offset"),
    [
        (b"", 0),
        (b"\x02\0\0", 3),
        (b"\x01\0\0\0", 4),
        (b"\x02\0\0\0", 4),
        (b"\x02\0\0\0[]", 4),
        (b'\x02\0\0\0{"events": [5]}', 16),
        (b"\x01\0\0\0\xff\xff\xff\xff", 4),
    ],
)
def test_broken_hello_frames(frame: bytes, offset: int) -> None:
    """The byte that is named counts from the start of the frame."""
    for _ in each_engine():
        with pytest.raises(DecodeError) as refused:
            frames.decode_hello(frame)
        assert refused.value.offset == offset


def test_other_events_are_not_judged_when_reading() -> None:
    message = Message(0.0, (SimulationEndsEvent(),))
    assert frames.decode_hello(b"\x01\0\0\0" + message.to_binary()).message == message


def test_unknown_fields_of_a_hello() -> None:
    frame = b'\x02\0\0\0{"x": 1, "events": []}'
    with pytest.raises(DecodeError, match="no field of this name"):
        frames.decode_hello(frame)
    assert frames.decode_hello(frame, strict=False).message == Message(0.0)
    assert wire.decode(frame, strict=False) == Message(0.0)


# What it is

JSON = b'{"now": 1, "events": []}'


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (JSON, "json"),
        (JSON + b"\0", "json"),
        (b" \r\n\t" + JSON, "json"),
        (b"\xef\xbb\xbf" + JSON, "json"),
        (b"\xef\xbb\xbf\n" + JSON, "json"),
        (b"/* c */" + JSON, "json"),
        (b"// c\n" + JSON, "json"),
        (b"{}", "json"),
        (b"{", "json"),
        (JSON.decode().encode("utf-16-le"), "binary"),
        (JSON.decode().encode("utf-16"), "binary"),
        (Message(0.0).to_binary(), "binary"),
        (b"", "binary"),
        (b"\0", "binary"),
        (b"\x0c\0\0\0 and so on", "binary"),
        (frames.encode_init(""), "init"),
        (frames.encode_init("{}"), "init"),
        (frames.encode_init("some text"), "init"),
        (frames.encode_hello(HELLO, "binary"), "hello"),
        (frames.encode_hello(HELLO, "json"), "hello"),
        (b"\x02\0\0\0{", "hello"),
    ],
)
def test_what_bytes_are(data: bytes, kind: str) -> None:
    assert {wire.detect(form) for form in (data, bytearray(data), memoryview(data))} == {kind}


def detected(data: bytes) -> str:
    """The kind of bytes that are not a frame, by all bytes of their head."""
    text = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    is_begun = text[:1] in (b"{", b"/") and text[1:2] != b"\0" and int.from_bytes(data[:4], "little") >= len(data)
    return "json" if is_begun or (text[:1] == b"{" and len(data) < 4) else "binary"


@pytest.mark.once
def test_the_first_bytes_of_a_message() -> None:
    for first, second in product(range(256), repeat=2):
        for rest in (b"", b"{", b"\xbf{", b" {", b"\0\0{", b"{ and so on"):
            data = bytes([first, second]) + rest
            if wire.detect(data) not in ("init", "hello"):
                assert wire.detect(data) == detected(data)


@given(st.binary(max_size=80))
def test_any_first_bytes_of_a_message(data: bytes) -> None:
    assert wire.detect(data) in ("init", "hello", detected(data))


@given(bat.messages(), st.sampled_from(("binary", "json")))
def test_every_message_is_known_for_what_it_is(message: Message, format: str) -> None:
    data = wire.FORMATS[format].encode(message)
    assert wire.detect(data) == format
    assert wire.decode(data) == message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_text_in_another_encoding_is_told(encoding: str) -> None:
    data = JSON.decode().encode(encoding)
    for _ in each_engine():
        with pytest.raises(DecodeError, match=r"this is text in UTF-16, '\{\"now\""):
            wire.decode(data)


@given(st.binary(max_size=80))
def test_any_bytes_are_something(data: bytes) -> None:
    assert wire.detect(data) in ("binary", "json", "init", "hello")
    for _ in each_engine():
        with pytest.raises(DecodeError):
            wire.decode(data)


@given(bat.messages(), st.binary(max_size=8))
def test_size_prefixed_messages(message: Message, behind: bytes) -> None:
    body = message.to_binary()
    data = len(body).to_bytes(4, "little") + body
    for _ in each_engine():
        assert frames.decode_size_prefixed(data + behind) == message
    assert frames.is_size_prefixed(data)
    assert not frames.is_size_prefixed(data + b"\0")
    with pytest.raises(DecodeError, match=r"a size-prefixed message: use frames\.decode_size_prefixed"):
        wire.decode(data)


@given(st.text())
def test_initialization_data_is_no_size_prefixed_message(text: str) -> None:
    assert not frames.is_size_prefixed(frames.encode_init(text))


@given(bat.messages(), st.data())
def test_a_cut_size_prefixed_message(message: Message, data: st.DataObject) -> None:
    body = message.to_binary()
    whole = len(body).to_bytes(4, "little") + body
    with pytest.raises(DecodeError):
        frames.decode_size_prefixed(whole[: data.draw(st.integers(0, len(whole) - 1))])


def test_a_fault_in_a_size_prefixed_message_has_its_place_in_the_data() -> None:
    with pytest.raises(DecodeError) as behind:
        frames.decode_size_prefixed(b"\x08\0\0\0" + b"\xff" * 8)
    with pytest.raises(DecodeError) as bare:
        wire.binary.decode(b"\xff" * 8)
    assert behind.value.offset == (bare.value.offset or 0) + 4


# The time


@given(st.integers(8, 200), st.integers(0, 40), st.floats(allow_nan=False, allow_infinity=False))
def test_the_time_is_read_unless_the_first_word_is_the_size(root: int, more: int, now: float) -> None:
    """A frame of initialization data begins with its size, and any text can look like a table."""
    absent = struct.pack("<IHH", root, 4, 4).ljust(root, b"\0") + struct.pack("<i", root - 4)
    assert frames.time_of(absent) is None
    assert frames.time_of(absent + bytes(more)) == (0.0 if more else None)
    there = struct.pack("<IHHH", root + 4, 6, 12, 4).ljust(root + 4, b"\0") + struct.pack("<id", root, now)
    assert frames.time_of(there) == now
    assert frames.time_of(there[:-8]) is None


@given(st.sampled_from(sorted(frames.FLAGS.values())), st.binary(max_size=40))
def test_a_frame_with_flags_has_no_time(flags: int, data: bytes) -> None:
    assert frames.time_of(flags.to_bytes(4, "little") + data) is None


@pytest.mark.parametrize(("flags", "place"), [(1, 2**24 + 1), (2, 2**16 + 2)])
def test_a_long_frame_with_flags_has_no_time(flags: int, place: int) -> None:
    """Its bytes can look like a table without a time, as those of the next number do."""
    table = struct.pack("<HHH", 4, 4, 0)
    data = bytearray(place) + table
    data[flags : flags + 4] = struct.pack("<i", flags - place)
    data[:flags] = flags.to_bytes(4, "little")[:flags]
    assert data[:4] == flags.to_bytes(4, "little")
    assert frames.time_of(bytes(data)) is None
    assert frames.time_of(struct.pack("<IHH", 8, 4, 4) + struct.pack("<i", 4) + bytes(8)) == 0.0


@pytest.mark.parametrize("hello", ["init", "{}", '{"now": 3}'])
def test_the_frames_of_the_handshake_have_no_time(hello: str) -> None:
    assert frames.time_of(frames.encode_init(hello)) is None
    for format in frames.FLAGS:
        assert frames.time_of(frames.encode_hello(HELLO, format)) is None


@pytest.mark.parametrize("size", range(4))
def test_less_than_a_word_has_no_time(size: int) -> None:
    assert frames.time_of(b'{"n'[:size]) is None
