"""Whatever is read takes time in proportion to its size: the regular expressions, and the reader of the dialect.

Work is counted, not timed: steps of a matcher, lines of Python. A clock would only tell how busy the machine is.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from engines import each_engine
from regex_work import Work
from work import lines_of

import batprotocol
from batprotocol.errors import DecodeError
from batprotocol.wire import dialect, json

PACKAGE = Path(batprotocol.__file__).parent
FUNCTIONS = {"match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"}


def compiled(value: Any, name: str) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from compiled(each, f"{name}[{key!r}]")
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from compiled(each, f"{name}[{index}]")


def patterns() -> dict[str, re.Pattern[Any]]:
    """All patterns of the package, each once: those in its modules, and those written where they are used."""
    found: dict[str, re.Pattern[Any]] = {}
    sources = {path: text for path in sorted(PACKAGE.rglob("*.py")) if "import re\n" in (text := path.read_text())}
    for path in sources:
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        module = importlib.import_module(".".join(["batprotocol", *parts]).removesuffix(".__init__"))
        for name, value in vars(module).items():
            found |= {f"{module.__name__}.{place}": each for place, each in compiled(value, name)}
    for path, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FUNCTIONS:
                is_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
                if is_re and node.args and isinstance(node.args[0], ast.Constant):
                    found[f"{path.name}:{node.lineno}"] = re.compile(node.args[0].value)
    return {name: pattern for pattern, name in {pattern: name for name, pattern in reversed(found.items())}.items()}


PATTERNS = patterns()
ALPHABET = [bytes([code]) for code in range(32, 127)] + [b"\n", b"\t", b"\xe9"]


def pieces(pattern: re.Pattern[Any]) -> list[bytes]:
    """What could make a pattern try again and again: its own characters, and pieces of what it says."""
    source = pattern.pattern if isinstance(pattern.pattern, bytes) else pattern.pattern.encode()
    own = [each for each in ALPHABET if each in source or each in b"019afzAFZ.,:\"'\\/*[]{} \t\n_-+!"]
    pairs = [b"1.", b"1e", b"/*", b"*/", b"/**/", b"//\n", b"\\n", b'\\"', b'"a",', b"'a',", b"1,", b"1-", b"Aa", b"aA"]
    pairs += [b'"a":1,', b"0x1", b"[1],", b"{},", b"-b2e.", b" 1", b"1 ", b"1:", b"\\u00e9", b"///\n", b", ", b"a b"]
    return own + pairs


PREFIXES = (
    b"",
    b'"',
    b"'",
    b"0x",
    b"0x1.",
    b"1",
    b"1.",
    b"1e",
    b"/*",
    b"-",
    b'"a":',
    b'"a":"',
    b"1:",
    b"A",
    b" ",
    b"//",
)
SUFFIXES = (b"", b"\x01", b"!", b"x", b"\\", b"/")


@pytest.mark.slow
@pytest.mark.parametrize("name", PATTERNS)
def test_each_pattern_takes_linear_time(name: str) -> None:
    pattern = PATTERNS[name]
    few, many = 6, 24
    for prefix in PREFIXES:
        first = Work(pattern)
        first.match(prefix + b"\xff" * few, whole=True)
        if first.furthest < len(prefix):
            continue  # it has stopped before what would follow
        for piece in pieces(pattern):
            for suffix in SUFFIXES if not prefix else SUFFIXES[1:2]:
                less, more = Work(pattern), Work(pattern)
                less.match(prefix + piece * few + suffix, whole=True)
                if less.furthest < len(prefix + piece * few):
                    break  # so far, all longer texts are the same
                more.match(prefix + piece * many + suffix, whole=True)
                assert more.steps <= 6 * less.steps + 100, (name, prefix, piece, suffix)


SEARCHED = [
    name
    for name in PATTERNS
    if any(
        part in name
        for part in (
            "_NUMBERED",
            "_ODDITY",
            "_BRACKET",
            "_ESCAPE",
            "_SURROGATE",
            "_WORD",
            "_TEXTS",
            "_MINUS",
            "_DIRECTION",
            "new.py:166",
        )
    )
]


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHED)
def test_each_pattern_that_is_searched_takes_linear_time(name: str) -> None:
    pattern = PATTERNS[name]
    for prefix in (b"", b'"', b"'", b"/*"):
        for piece in pieces(pattern):
            less, more = Work(pattern), Work(pattern)
            less_text, more_text = prefix + piece * 12 + b"\x01", prefix + piece * 48 + b"\x01"
            for work, text in ((less, less_text), (more, more_text)):
                # As the matcher does it: behind a match it goes on from its end.
                place = 0
                while place <= len(text):
                    work.text = list(text)
                    end = next(work._sequence(work.tree, 0, place), None)
                    place = place + 1 if end is None or end == place else end
            assert more.steps <= 6 * less.steps + 200, (name, prefix, piece)


def test_the_counting_finds_the_ambiguous() -> None:
    ambiguous = re.compile(rb"[0-9a-f]*\.?[0-9a-f]*p")
    less, more = Work(ambiguous), Work(ambiguous)
    less.match(b"1" * 24)
    more.match(b"1" * 96)
    assert more.steps > 10 * less.steps


@pytest.mark.slow
@pytest.mark.parametrize("name", PATTERNS)
def test_the_counting_matches_what_the_pattern_matches(name: str) -> None:
    pattern = PATTERNS[name]
    for prefix in PREFIXES:
        for piece in pieces(pattern)[::3]:
            text = prefix + piece * 3
            if not text.isascii():
                continue
            given = text if isinstance(pattern.pattern, bytes) else text.decode()
            assert Work(pattern).match(text, whole=True) == bool(pattern.fullmatch(given)), (name, text)


# The reader of the dialect

EVENT = b'{"timestamp":1,"event_type":"KillJobsEvent","event":{"job_ids":[%b]}}'
JOB = (
    b'{"timestamp":1,"event_type":"JobSubmittedEvent","event":{"job_id":"w!1","submission_time":"1.5","job":'
    b'{"resource_request":"4","walltime":0x1p4,"profile_id":"w!p","extra_data":"\\x41"}}}'
)
AFTER = b'{"timestamp":1,"event":{"job_id":"w!1"},"event_type":"RejectJobEvent"}'


def message(events: bytes) -> bytes:
    return b'{"now":1,"events":[' + events + b"]}"


def nested(count: int) -> bytes:
    inner = b'{"profile_id":"p","progress":%b1}' % (b"/**/" * count)
    kind = b"KillProgressAtomicProfile"
    for _ in range(20):
        wrapper = b'{"kill_progress":%b,"kill_progress_type":"%b"}' % (inner, kind)
        inner = b'{"profile_id":"p","current_task_progress":%b}' % wrapper
        kind = b"KillProgressSequentialProfile"
    wrapper = b'{"kill_progress":%b,"kill_progress_type":"%b"}' % (inner, kind)
    return message(
        b'{"timestamp":1,"event":{"job_ids":[],"progresses":[{"job_id":"a","wrapper":%b}]},"event_type":"JobsKilledEvent"}'
        % wrapper
    )


SHAPES: dict[str, Callable[[int], bytes]] = {
    "hexadecimal digits": lambda count: b'{"now":0x' + b"1" * count + b',"events":[]}',
    "digits in a string": lambda count: b'{"now":"' + b"1" * count + b'x","events":[]}',
    "digits": lambda count: b'{"now":' + b"1" * count + b'x,"events":[]}',
    "comments": lambda count: message(b"/**/" * count),
    "comments that do not end": lambda count: message(b"/*" * count),
    "line comments": lambda count: message(b"//\n" * count),
    "documentation": lambda count: message(b"\n///\n" * count),
    "quotes": lambda count: message(b'"' * count),
    "escaped quotes": lambda count: message(EVENT % (b'"' + b'\\"' * count)),
    "escapes": lambda count: message(EVENT % (b"'" + b"\\x41" * count + b"'")),
    "strings": lambda count: message(EVENT % b",".join([b"'a\\x41'"] * count)),
    "numbers as strings": lambda count: message(b",".join([JOB] * count)),
    "unions before their types": lambda count: message(b",".join([AFTER] * count)),
    "nested unions before their types": nested,
    "the same key": lambda count: b"{" + b'"events":[],' * count + b"}",
    "unknown fields": lambda count: b"{" + b'"x":{"y":[1,{},\'a\']},' * count + b'"now":1,"events":[]}',
    "unknown containers": lambda count: b'{"x":[' + b"[[]]," * count + b'//\n0],"now":1,"events":[]}',
    "open containers": lambda count: b'{"x":' + b"[" * count,
    "a fault at the end": lambda count: message(b",".join([JOB] * count)) + b"x",
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_json_takes_linear_time(shape: str, strict: bool) -> None:
    def read(count: int) -> None:
        with contextlib.suppress(DecodeError):
            dialect.read(SHAPES[shape](count), strict, [])

    lines_of(partial(read, 3))  # what is done once
    less, more = lines_of(partial(read, 60)), lines_of(partial(read, 240))
    assert more <= 5 * less + 100


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_engines_agree_on_it(shape: str, strict: bool) -> None:
    outcomes = set()
    for _ in each_engine():
        try:
            outcomes.add(repr(json.decode(SHAPES[shape](10), strict=strict)))
        except DecodeError as error:
            outcomes.add(str(error))
    assert len(outcomes) == 1
