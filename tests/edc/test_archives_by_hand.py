"""Archives that are made byte by byte: what is listed of them, what is read, and where they are refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batprotocol.edc.recording import unpacked as archives
from batprotocol.edc.recording.unpacked import CUT, ArchiveError, Member, are_in_order, chosen, in_order, listed

pytestmark = pytest.mark.once


def header(
    name: bytes, size: int | bytes = 0, kind: bytes = b"0", magic: bytes = b"ustar\0", prefix: bytes = b""
) -> bytes:
    """The header of a member."""
    digits = size if isinstance(size, bytes) else b"%011o\0" % size
    fields = name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + digits + b"00000000000\0"
    rest = (kind + bytes(100) + magic + b"00").ljust(189, b"\0") + prefix
    whole = (fields + b" " * 8 + rest).ljust(512, b"\0")
    return whole[:148] + b"%06o\0 " % sum(whole) + whole[156:]


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def file(name: bytes, data: bytes = b"x", **more: bytes) -> bytes:
    return header(name, len(data), **more) + padded(data)


END = bytes(1024)


def names(data: bytes) -> tuple[list[tuple[str, int, int]], str]:
    found = listed(io.BytesIO(data))
    return list(found.members), str(found.fault or "")


def contents(data: bytes, wanted: Callable[[str], bool] = bool) -> list[object]:
    """All that is chosen: how many, then name and bytes of each, then the fault."""
    found: list[object] = []
    for each in chosen(io.BytesIO(data), wanted):
        if isinstance(each, Member):
            try:
                found.append((each.name, b"".join(each.content())))
            except ArchiveError as error:
                found.append((each.name, str(error)))
        else:
            found.append(str(each) if isinstance(each, ArchiveError) else each)
    return found


NO_TAR = "is not a tar archive, or not a whole one"
TWO = file(b"b", b"bb") + file(b"a", b"aaa")


@pytest.mark.parametrize(
    ("data", "members", "fault"),
    [
        (b"", [], NO_TAR),
        (END, [], ""),
        (bytes(511), [], NO_TAR),
        (TWO + END, [("a", 3, 1536), ("b", 2, 512)], ""),
        (TWO, [("a", 3, 1536), ("b", 2, 512)], ""),
        (TWO + bytes(512) + TWO, [("a", 3, 1536), ("b", 2, 512)], ""),
        (file(b"a", b"") + TWO, [("a", 0, 512), ("a", 3, 2048), ("b", 2, 1024)], ""),
        (TWO[:-1], [("b", 2, 512), ("a", 3, 1536)], "breaks off after 2 members: it is cut short or damaged"),
        (TWO[:1536], [("b", 2, 512), ("a", 3, 1536)], "breaks off after 2 members: it is cut short or damaged"),
        (TWO[:1535], [("b", 2, 512)], "breaks off after 1 members: it is cut short or damaged"),
        (TWO[:1024] + b"\1" + TWO[1025:], [("b", 2, 512)], "breaks off after 1 members: it is cut short or damaged"),
        (file(b"a", b"x" * 512) + file(b"b"), [("a", 512, 512), ("b", 1, 1536)], ""),
        (file(b"a", b"x" * 513) + file(b"b"), [("a", 513, 512), ("b", 1, 2048)], ""),
        (file(b"./a") + file(b"././b"), [("./b", 1, 1536), ("a", 1, 512)], ""),
        (file(b"a/", b"") + file(b"a/b"), [("a/b", 1, 1024)], ""),
        (file(b"a", kind=b"\0") + file(b"b", kind=b"7") + file(b"c", kind=b"8"), [("a", 1, 512), ("b", 1, 1536)], ""),
        (header(b"d", 5, kind=b"5") + header(b"l", 9, kind=b"2") + file(b"e"), [("e", 1, 1536)], ""),
        (header(b"1", 9, b"1") + header(b"3", 9, b"3") + header(b"6", 9, b"6") + file(b"e"), [("e", 1, 2048)], ""),
        (file(b"a", prefix=b"some/where"), [("some/where/a", 1, 512)], ""),
        (file(b"a", prefix=b"some/where", magic=b"ustar "), [("a", 1, 512)], ""),
        (file(b"a" * 100, prefix=b"p"), [("p/" + "a" * 100, 1, 512)], ""),
        (file(b"a", kind=b"L") + file(b"b") + file(b"c"), [("c", 1, 2560), ("x", 1, 1536)], ""),
        (file(b"", b"long\0\0", kind=b"L") + file(b"b"), [("long", 1, 1536)], ""),
        (file(b"", b"long", kind=b"K") + file(b"b"), [("b", 1, 1536)], ""),
        (file(b"", b"long", kind=b"L") + header(b"b", 9, b"2") + file(b"c"), [("c", 1, 2048)], ""),
        (file(b"", b"long", kind=b"L"), [], NO_TAR),
        (file(b"", b"11 path=pp\n", kind=b"x") + file(b"b") + file(b"c"), [("c", 1, 2560), ("pp", 1, 1536)], ""),
        (file(b"", b"long", kind=b"L") + file(b"", b"8 mtim=\n", kind=b"x") + file(b"b"), [("long", 1, 2560)], ""),
        (file(b"", b"9 size=3\n", kind=b"x") + header(b"b") + padded(b"abc") + TWO,
         [("a", 3, 3584), ("b", 2, 2560), ("b", 3, 1536)], ""),
        (file(b"", b"9 size=3\n", kind=b"x"), [], NO_TAR),
        (file(b"", b"9 size=3\n11 path=pp\n", kind=b"x") + header(b"b") + padded(b"abc"), [("pp", 3, 1536)], ""),
        (file(b"", b"9 size=3\n\0\0", kind=b"x") + header(b"b") + padded(b"abc"), [("b", 3, 1536)], ""),
        (file(b"", b"11 size=3\n", kind=b"x") + file(b"b"), [], NO_TAR),
        (file(b"", b"9size=3\n", kind=b"x") + file(b"b"), [], NO_TAR),
        (file(b"", b"9 size:3\n", kind=b"x") + file(b"b"), [], NO_TAR),
        (file(b"", b"11 path=pp\n", kind=b"g") + file(b"b"), [("b", 1, 1536)], ""),
        (header(b"", 600, b"L") + bytes(512), [], NO_TAR),
        (header(b"a", b"\x80" + bytes(10) + b"\3") + padded(b"abc"), [("a", 3, 512)], ""),
        (header(b"a", b"\x80" + bytes(9) + b"\2\1") + bytes(1024), [("a", 513, 512)], ""),
        (header(b"a", b"\xff" * 12) + padded(b"abc"), [], NO_TAR),
        (header(b"a", b"         3 \0") + padded(b"abc"), [("a", 3, 512)], ""),
        (header(b"a", b"\0" * 12), [("a", 0, 512)], ""),
        (file(b"", b"10 size=-1\n", kind=b"x") + file(b"b"), [], NO_TAR),
        (file(b"", b"12 size=-512\n", kind=b"x") + file(b"b"), [], NO_TAR),
        (header(b"a", b"00000000009\0"), [], NO_TAR),
        (file("é".encode()) + file(b"\xff"), [("é", 1, 512), ("\ufffd", 1, 1536)], ""),
    ],
)  # fmt: skip
def test_what_is_listed(data: bytes, members: list[tuple[str, int, int]], fault: str) -> None:
    found, why = names(data)
    assert sorted(found) == sorted(members)
    assert why == fault
    assert found == sorted(found, key=lambda member: in_order(member[0]))


def packed(data: bytes) -> list[bytes]:
    return [data, lzma.compress(data), gzip.compress(data), bz2.compress(data)]


@pytest.mark.parametrize("number", range(4), ids=["tar", "xz", "gz", "bz2"])
def test_what_is_read(number: int) -> None:
    data = packed(TWO + file(b"c", b"") + END)[number]
    assert contents(data) == [3, ("a", b"aaa"), ("b", b"bb"), ("c", b"")]
    assert contents(data, lambda name: name != "b") == [2, ("a", b"aaa"), ("c", b"")]
    assert contents(data, lambda name: name == "z") == [0]
    large = bytes(range(256)) * 1000
    ordered = packed(file(b"1", large) + file(b"2", b"2") + file(b"10", large[::-1]) + END)[number]
    assert contents(ordered) == [3, ("1", large), ("2", b"2"), ("10", large[::-1])]
    apart = packed(file(b"10", large) + file(b"2", b"2") + file(b"1", large[::-1]) + END)[number]
    assert contents(apart) == [3, ("1", large[::-1]), ("2", b"2"), ("10", large)]


def test_streams_that_follow_one_another() -> None:
    data = file(b"a", b"1" * 70_000) + file(b"b", b"2") + END
    half = len(data) // 2
    for pack in (lzma.compress, gzip.compress, bz2.compress):
        assert contents(pack(data[:half]) + pack(data[half:])) == [2, ("a", b"1" * 70_000), ("b", b"2")]
        assert contents(pack(data[:half]) + bytes(8) + pack(data[half:]) + bytes(200)) == [
            2,
            ("a", b"1" * 70_000),
            ("b", b"2"),
        ]


def test_a_member_that_is_cut() -> None:
    fault = "breaks off after 1 members: it is cut short or damaged"
    assert contents(file(b"a", b"x" * 2000)[:1500]) == [1, ("a", CUT), fault]
    assert contents(b"no archive") == [NO_TAR]
    noise = bytes(range(256)) * 3000
    data = gzip.compress(file(b"2", b"2") + file(b"1", noise))
    found = contents(data[: len(data) // 2])
    assert found[0] == 2
    assert found[1:3] == [("1", CUT), ("2", b"2")]
    assert found[3] == "breaks off after 2 members: it is cut short or damaged"


def test_the_order_of_names() -> None:
    assert sorted(["100000-b2e.bin", "99999-b2e.bin", "00010-e2b.bin", "9-e2b.bin"], key=in_order) == [
        "9-e2b.bin",
        "00010-e2b.bin",
        "99999-b2e.bin",
        "100000-b2e.bin",
    ]
    assert in_order("a01b") == [(0, "a"), (1, "1"), (0, "b"), (0, "a01b")]
    assert in_order("000") == [(0, ""), (0, ""), (0, ""), (0, "000")]


NAMES = st.text("0019ab-./\u00e9\u0663\u20ac\U0001d7d8", max_size=6) | st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(NAMES, max_size=5))
@example(["007", "010"])
@example(["010", "007"])
@example(["b007", "a010"])
@example(["a007b", "a010a"])
@example(["01", "1"])
@example(["\u00e91", "ab1"])
def test_archives_that_are_in_order(given_names: list[str]) -> None:
    ordered = sorted(given_names, key=in_order)
    for some in (given_names, ordered, ordered[::-1]):
        assert are_in_order(some) == (some == ordered)


@given(st.text("0019", min_size=1, max_size=4), st.text("0019", min_size=1, max_size=4), st.data())
def test_names_with_digits_at_the_same_places(one: str, other: str, data: st.DataObject) -> None:
    texts = st.text("ab\u00e9\u0663", min_size=1, max_size=1)
    names = [f"{data.draw(texts)}{digits}{data.draw(texts)}" for digits in (one, other.zfill(len(one))[: len(one)])]
    assert are_in_order(names) == (names == sorted(names, key=in_order))


# Limits


def test_how_far_an_archive_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    data = file(b"a", bytes(99_488)) + file(b"b", b"b") + END
    small = lzma.compress(data)
    for most, is_read in ((len(data), True), (len(data) - 1025, False), (50_000, False)):
        monkeypatch.setattr(archives, "UNPACKED", most)
        monkeypatch.setattr(archives, "RATIO", 1)
        found = contents(small)
        assert (found == [2, ("a", bytes(99_488)), ("b", b"b")]) == is_read
        limit = f"unpacks to more than {most:,} bytes; the limit is {most:,}, or 1 times its size"
        assert is_read or limit in str(found)
    monkeypatch.setattr(archives, "UNPACKED", 1)
    monkeypatch.setattr(archives, "RATIO", 1000)
    assert contents(small)[0] == 2


def test_how_many_members_and_how_long_a_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MEMBERS", 2)
    assert contents(TWO + END)[0] == 2
    assert names(TWO + file(b"c"))[1] == "has more than 2 members"
    assert contents(TWO + file(b"c")) == [2, ("a", b"aaa"), ("b", b"bb"), "has more than 2 members"]
    monkeypatch.setattr(archives, "HEADER", 600)
    long = file(b"", b"n" * 600, kind=b"L") + file(b"b")
    assert names(long) == ([("n" * 600, 1, 2048)], "")
    longer = file(b"", b"n" * 601, kind=b"L") + file(b"b")
    assert names(longer) == ([], "has a header of 601 bytes, and the limit is 600")


def test_how_much_is_sorted_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(TWO + END)
    monkeypatch.setattr(archives, "SORTED", 5)
    assert contents(data) == [2, ("a", b"aaa"), ("b", b"bb")]
    monkeypatch.setattr(archives, "SORTED", 4)
    told = "has more than 4 bytes of messages that are not in the order of their names"
    assert contents(data) == [2, told]
    assert contents(TWO + END) == [2, ("a", b"aaa"), ("b", b"bb")]  # which one can go to and fro in
    in_turn = gzip.compress(file(b"a", b"aaa") + file(b"b", b"bb") + END)
    assert contents(in_turn) == [2, ("a", b"aaa"), ("b", b"bb")]


def test_the_limits_are_those_of_the_documentation() -> None:
    assert archives.UNPACKED == archives.HEADER * 256 == 268_435_456
    assert (archives.RATIO, archives.MEMBERS, archives.SORTED) == (500, 1_000_000, 1_073_741_824)
    assert archives.DECOMPRESSOR == 134_217_728


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_what_tarfile_writes(format: int) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=format) as tar:
        for name in ("d/" + "n" * 90 + "/" + "m" * 90, "short"):
            about = tarfile.TarInfo(name)
            about.size = 3
            tar.addfile(about, io.BytesIO(b"abc"))
        about = tarfile.TarInfo("folder")
        about.type = tarfile.DIRTYPE
        tar.addfile(about)
    assert contents(made.getvalue()) == [2, ("d/" + "n" * 90 + "/" + "m" * 90, b"abc"), ("short", b"abc")]


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 90)), max_size=6), st.integers(1, 3))
@example([(10, 0), (10, 0), (9, 1)], 1)
@example([(0, 0), (100, 10), (110, 5)], 2)
def test_a_compressed_file_goes_forward_as_one_in_memory(steps: list[tuple[int, int]], number: int) -> None:
    data = bytes(range(200))
    file = packed(data)[number]
    start = next(each for magic, each in archives._DECOMPRESSORS.items() if file.startswith(magic))
    found, expected = archives._Unpacking(io.BytesIO(file), start, 10_000), io.BytesIO(data)
    for place, size in steps:
        if place < expected.tell():
            with pytest.raises(io.UnsupportedOperation, match="read forward"):
                found.seek(place)
        else:
            expected.seek(min(place, len(data)))
            assert found.seek(place) == expected.tell()
            assert b"".join(found.read(1) or b"" for _ in range(size)) == expected.read(size)
        assert found.tell() == expected.tell()
        for whence in (io.SEEK_CUR, io.SEEK_END):
            with pytest.raises(io.UnsupportedOperation, match="read forward"):
                found.seek(max(place, expected.tell()), whence)
