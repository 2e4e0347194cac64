"""Hypothesis strategies for FaST: every message and part of `batprotocol.fast.values`, topics, awkward on purpose.

    from hypothesis import given
    from batprotocol.fast import decode, encode, topic_for
    from batprotocol.testing.strategies import fast

    @given(fast.messages())
    def test_round_trip(message):
        assert decode(encode(message), topic_for(message, "node-a", "42")) == message

They generate what both dialects carry, exactly: doubles have 16 digits, as fast-lib writes no more, and durations six
decimals. Texts look like numbers, booleans, null and YAML's own signs.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol.fast import values as v
from batprotocol.fast.topics import MESSAGES, Topic, TopicKind
from batprotocol.testing.strategies._values import mostly
from batprotocol.testing.strategies._values import texts as any_texts

__all__ = ["messages", "parts", "texts", "topics"]

_AWKWARD: Final = (
    *(
        "",
        "~",
        "null",
        "Null",
        "NULL",
        "true",
        "No",
        "on",
        "y",
        "010",
        "0x1F",
        "1e5",
        "1.5",
        ".inf",
        ".nan",
        "-0",
        "42",
    ),
    *("---", "...", "- a", "-", "-a", "? a", "?", ":", ":a", "a:", "a: b", "a:b", "a #b", "a#b", "#a", "=", "<<", "&a"),
    *("*a", "!a", "|", ">", "%a", "@a", "`a", "[a]", "{a: b}", "a, b", "'a'", '"a"', "it's", "\\", "a\\nb", "/"),
    *(
        " ",
        " a",
        "a ",
        "a\tb",
        "a\n",
        "\n",
        "a\n\nb\n",
        "a\rb",
        "\ra",
        "a\r",
        "a\r\nb",
        "a\x85b",
        "a\u2028b",
        "a\u2029",
    ),
    *(
        "\ufeffa",
        "a\x7fb",
        "a\x01b",
        "\x1b[0m",
        "\x00",
        "\x04",
        "\x80\x9f\xa0",
        "\ufffe\uffff",
        "\ue000\x85",
        "Knöten-😀",
    ),
    *("<domain><name>vm1</name></domain>", "2017-01-11", "12:30:45", "48b60e5e-3a7d-11e5-9f05-002590e26854", ".*"),
)
_NAMES: Final = (
    "vm1",
    "vm2",
    "parastation-1",
    "node-a",
    "success",
    "error",
    "vm started",
    "vm migrated",
    "auto",
    "live",
)


def texts() -> SearchStrategy[str]:
    """Any text, and often one that YAML could take for something else."""
    return mostly(st.sampled_from(_NAMES), st.one_of(st.sampled_from(_AWKWARD), any_texts()), one_in=2)


def parts(cls: type[Any]) -> SearchStrategy[Any]:
    """Values of this class: a part of a message such as `VMConfiguration`, or a message."""
    special = _SPECIAL.get(cls)
    return special() if special is not None else st.deferred(lambda: _built(cls))


def messages(cls: type[v.FastMessage] | None = None) -> SearchStrategy[Any]:
    """Any message, or those of one class."""
    return parts(cls) if cls is not None else st.one_of([parts(each) for each in MESSAGES.values()])


def topics(channel: TopicKind | None = None) -> SearchStrategy[Topic]:
    """Any topic, or those of one kind."""
    channels = st.sampled_from(list(TopicKind)) if channel is None else st.just(channel)
    names = mostly(st.sampled_from(("node-a", "vm1", "4711")), st.text(_LEVEL, min_size=1, max_size=12), one_in=2)
    processes = st.one_of(st.just("any_proc"), names)
    return channels.flatmap(
        lambda each: st.builds(Topic, st.just(each), names, processes if each.has_process else st.none())
    )


_LEVEL: Final = st.characters(exclude_characters="/+#\0", codec="utf-8")


def _built(cls: type[Any]) -> SearchStrategy[Any]:
    hints = typing.get_type_hints(cls, include_extras=True)
    fields = {field.name: field for field in msgspec.structs.fields(cls)}
    return st.builds(
        cls,
        **{
            name: _FIELDS.get((cls, name), lambda hint=hints[name]: _of(hint))()
            if field.required or field.default is not None
            else mostly(st.none(), _FIELDS.get((cls, name), lambda hint=hints[name]: _of(hint))(), one_in=2)
            for name, field in fields.items()
        },
    )


def _of(hint: Any) -> SearchStrategy[Any]:
    """Values of a type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        meta = hint.__metadata__[0]
        return _numbers(meta.le if meta.le is not None else meta.extra["le"])
    if origin in (typing.Union, types.UnionType):
        return _of(next(each for each in arguments if each is not type(None)))
    if origin is tuple:
        return st.lists(_of(arguments[0]), max_size=3).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(texts().map(lambda text: text[:100]), texts(), max_size=3)
    plain = {str: texts, bool: st.booleans, float: _doubles}
    return plain[hint]() if hint in plain else parts(hint)


def _numbers(largest: int) -> SearchStrategy[int]:
    return st.one_of(st.sampled_from((0, 1, 7, 8, 10, largest)), st.integers(0, largest))


def _doubles() -> SearchStrategy[float]:
    """Doubles with 16 digits, or infinite."""
    return st.floats(allow_nan=False).map(lambda value: float(f"{value:.16g}"))


def _durations() -> SearchStrategy[dict[str, float | str]]:
    seconds = st.integers(0, 10**12).map(lambda micro: micro / 1e6)
    tags = st.sampled_from(("overall", "migrate", "wall: 0"))
    return st.dictionaries(tags, st.one_of(seconds, st.just("wall: 0.1 started: 0.0")), max_size=3)


def _results() -> SearchStrategy[v.Result]:
    """Results: `vm migrated` and, in the specification, `vm repinned` have one entry."""
    alone = st.builds(v.Result, st.sampled_from(("vm migrated", "vm repinned")), st.tuples(parts(v.VMResult)), texts())
    titles = texts().filter(lambda title: title not in ("vm migrated", "vm repinned"))
    many = st.builds(v.Result, titles, st.lists(parts(v.VMResult), max_size=3), st.one_of(st.none(), texts()))
    return st.one_of(alone, many, st.builds(v.Result, st.just("quit"), scheduler=texts()))


def _words() -> SearchStrategy[str]:
    """Words that stand alone in a payload: nothing around them, and no answer of a process."""
    return (
        texts().map(lambda text: text.strip(" \t\r\n\0").replace(" : ", " ")).filter(lambda text: text == text.strip())
    )


def _quits() -> SearchStrategy[v.Quit]:
    """`quit` as it can be read: its options in the list are those of the message."""

    def quit(concurrent: bool | None, id: str | None, host: str | None) -> v.Quit:
        options = [v.TaskOptions(concurrent_execution=concurrent)]
        return v.Quit(list=options, concurrent_execution=concurrent, id=id, host=host)

    some = st.one_of(st.none(), texts())
    return st.builds(quit, st.one_of(st.none(), st.booleans()), some, some)


_SPECIAL: Final[dict[type[Any], Callable[[], SearchStrategy[Any]]]] = {
    v.Quit: _quits,
    v.Result: _results,
    v.PscomRequest: lambda: st.builds(v.PscomRequest, st.one_of(st.sampled_from((v.SUSPEND, v.RESUME)), _words())),
    v.PscomResponse: lambda: st.one_of(
        st.builds(v.PscomResponse, st.sampled_from((v.ALLOWED, v.COMPLETED)), _numbers(2**32 - 1)),
        st.builds(v.PscomResponse, _words()),
    ),
}

_FIELDS: Final[dict[tuple[type[Any], str], Callable[[], SearchStrategy[Any]]]] = {
    (v.VMResult, "time_measurement"): _durations,
    (v.Configuration, "status"): lambda: st.sampled_from(("accepted", "denied")),
}
