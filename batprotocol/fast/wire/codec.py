"""The codec: a payload and its topic to a message, and back.

In its dialect, the codec accepts and refuses the same payloads as fast-lib; the specification's dialect has the same
rules with its own words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, Final, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from batprotocol.errors import DecodeError, EncodeError, shown
from batprotocol.fast import values as v
from batprotocol.fast.topics import MESSAGES, ROUTES, Topic, TopicKind, routes_on
from batprotocol.fast.values import FastMessage, MessagePart
from batprotocol.fast.wire._yaml import (
    LARGEST,
    MappingNode,
    Node,
    NodeRefused,
    ScalarNode,
    SequenceNode,
    Tree,
    compose,
    decode_words,
    emit,
    encode_words,
)
from batprotocol.fast.wire.kinds import DIALECTS, Dialect, Reading, read_value, write_value

__all__ = [
    "NO_TASK",
    "UNKNOWN_TASK",
    "decode",
    "decode_alone",
    "decode_as",
    "encode",
    "from_json",
    "task_word",
    "to_json",
    "tree_of",
]


NO_TASK: Final = "expected a key 'task' with the kind of the message"
"""The beginning of the reason for a payload without a kind on a topic of tasks."""
UNKNOWN_TASK: Final = "there is no such task"
"""The beginning of the reason for a payload of an unknown kind on a topic of tasks."""

_FLAT: Final[Mapping[str, tuple[str, ...]]] = {
    "fastlib": ("vm migrated",),
    "specification": ("vm migrated", "vm repinned"),
}
"""The results that have their one entry in the message itself, not in a list."""


def decode(payload: bytes, topic: Topic | str, *, dialect: Reading = "fastlib") -> v.FastMessage:
    """Read the payload that came on a topic.

    Args:
        payload: the bytes.
        topic: the topic, as a value or as a text.
        dialect: "fastlib" accepts the same payloads as the programs; "specification" requires its words; "any" accepts
            both, and prefers the words of the programs.

    Raises:
        DecodeError: this is not a message for that topic. The error has the line, the column and the path, such as
            `vm-configurations[1].pci-ids[0].vendor`.

    >>> decode(b"task: suspend vm\\nlist: [{vm-name: vm1}]\\nid: 7", "fast/migfra/node-a/task").id
    '7'
    >>> decode(b"task: repin vm\\nvm-name: vm1\\nvcpu-map: 0-3", "fast/migfra/node-a/task")
    Traceback (most recent call last):
        ...
    batprotocol.errors.DecodeError: vcpu-map, line 3, column 11: expected a list, found '0-3'
    """
    if isinstance(topic, str):
        topic = Topic.parse(topic)
    _known(dialect, get_args(Reading))
    message: v.FastMessage = _decode(_DISPATCH[topic.channel], payload, dialect)
    return message


def decode_as(cls: type[Any], payload: bytes, *, dialect: Reading = "fastlib") -> Any:
    """Read a payload of a known class: a message, or a part such as `VMResult` or `PCIId`.

    Raises:
        DecodeError: as in `decode`.

    >>> decode_as(v.PCIId, b"{vendor: 0x15b3, device: 0x1004}")
    PCIId(vendor=5555, device=4100)
    """
    _known(dialect, get_args(Reading))
    return _decode(cls, payload, dialect)


def encode(message: v.FastMessage | v.MessagePart, *, dialect: Dialect = "fastlib") -> bytes:
    """Write a message, or a part of one.

    Args:
        message: the message.
        dialect: "fastlib" writes what fast-lib does, byte for byte; "specification" uses its words. What only one of
            them has, both write as that one.

    Raises:
        EncodeError: a value cannot be written. The error names its path.

    >>> print(encode(v.SuspendVM([v.VM("vm1")], id="7")).decode())
    ---
    task: suspend vm
    list:
      - vm-name: vm1
    id: 7
    ---
    """
    _known(dialect, DIALECTS)
    if _speaks_words(type(message), dialect):
        return encode_words(message)
    tree = _tree(message, dialect)
    if dialect == "fastlib":
        data = f"---\n{emit(tree) if tree else ''}\n---".encode()
    else:
        data = f"{emit(tree)}\n".encode()
    if len(data) > LARGEST:
        raise EncodeError(f"expected a message of at most {LARGEST:,} bytes, got {len(data):,}")
    return data


def _known(dialect: str, known: tuple[str, ...]) -> None:
    if dialect not in known:
        raise ValueError(f"there is no dialect {dialect!r}, only {', '.join(map(repr, known))}")


# The choice of the message

_Which: TypeAlias = "type[Any] | Callable[[Node], type[Any]]"


def _decode(which: _Which, payload: bytes, dialect: Reading) -> Any:
    if which is v.PscomRequest and dialect == "any":  # words, but for those that are the specification's YAML
        try:
            return _decode(which, payload, "specification")
        except DecodeError:
            return decode_words(v.PscomRequest, payload)
    if isinstance(which, type) and _speaks_words(which, dialect):
        return decode_words(which, payload)
    node = compose(payload)
    try:
        cls = which if isinstance(which, type) else which(node)
        if cls is v.Result:
            return _read_result(node, dialect)
        return cls() if cls in _EMPTY else read_value(cls, node, dialect)
    except NodeRefused as refused:
        raise refused.error() from None


def task_word(node: Node) -> str | None:
    """The `task` of a payload, if it has one that is a text."""
    task = node.entries.get("task") if isinstance(node, MappingNode) else None
    return task.text if isinstance(task, ScalarNode) and not task.is_null else None


def _by_task(channel: TopicKind) -> Callable[[Node], type[Any]]:
    """A function that finds the class of a message by its `task`."""
    tasks = {route.task: route.message for route in routes_on(channel)}

    def which(node: Node) -> type[Any]:
        word = task_word(node)
        if word is None:
            raise NodeRefused(NO_TASK, node)
        if word not in tasks:
            raise NodeRefused(f"{UNKNOWN_TASK} as {shown(word)}", node).below(".task")
        return tasks[word]

    return which


def _agent_status(node: Node) -> type[Any]:
    """The class of a message from an agent: a start has the key of fast-lib, which ignores `task`."""
    if isinstance(node, MappingNode) and "hostname" not in node.entries:
        return {"configuration": v.Configuration, "KPI": v.KPI}.get(task_word(node) or "", v.Init)
    return v.Init


def _agent_task(node: Node) -> type[Any]:
    """The class of a message to an agent: fast-lib reads the keys, and ignores `task`."""
    if isinstance(node, MappingNode):
        for key, cls in (("job-description", v.StopMonitoring), ("KPI", v.InitAgent)):
            if key in node.entries:
                return cls
    return _AGENT_TASKS(node)


_AGENT_TASKS: Final = _by_task(TopicKind.AGENT_TASK)
_DISPATCH: Final[Mapping[TopicKind, _Which]] = {
    **{route.channel: route.message for route in ROUTES},
    TopicKind.MIGFRA_TASK: _by_task(TopicKind.MIGFRA_TASK),
    TopicKind.AGENT_STATUS: _agent_status,
    TopicKind.AGENT_TASK: _agent_task,
}
_EMPTY: Final = (v.MmbwmonStopAck, v.MmbwmonRestartAck)
"""The messages without keys, for which any YAML is valid."""


# Results, whose shape depends on their content


def _read_result(node: Node, dialect: Reading) -> v.Result:
    entries = node.entries if isinstance(node, MappingNode) else {}
    title = entries.get("result")
    text = title.text if isinstance(title, ScalarNode) else ""
    flat = text in _FLAT[dialect] if dialect != "any" else _is_flat(text, entries)
    if isinstance(node, MappingNode) and flat:
        alone = MappingNode(node.line, node.column)
        alone.entries = {**entries, "list": SequenceNode(node.line, node.column)}
        result: v.Result = read_value(v.Result, alone, dialect)
        return replace(result, list=(read_value(v.VMResult, node, dialect),))
    found: v.Result = read_value(v.Result, node, dialect)
    return found


def _is_flat(title: str, entries: Mapping[str, Node]) -> bool:
    return title in _FLAT["fastlib"] or (title in _FLAT["specification"] and "list" not in entries)


def _tree(message: Any, dialect: Dialect) -> dict[str, Tree]:
    if not isinstance(message, v.FastMessage | v.MessagePart):
        raise EncodeError(f"expected a message, got {shown(message)}")
    tree = write_value(message, type(message), dialect)
    if isinstance(message, v.Result) and message.result in _FLAT[dialect]:
        entries = tree["list"]
        if not isinstance(entries, list) or len(entries) != 1:
            raise EncodeError(f"expected one entry, as {message.result!r} is the result for one machine", "list")
        before = dict(takewhile(lambda item: item[0] != "list", tree.items()))
        return {**before, **entries[0], **{key: each for key, each in tree.items() if key != "list"}}
    return tree


# Payloads that are not YAML


def _speaks_words(cls: type[Any], dialect: Reading) -> bool:
    """Whether a message of this class is bare words. The requests to pscom are YAML in the specification only."""
    return cls is v.PscomResponse or (cls is v.PscomRequest and dialect == "fastlib")


# Payloads without a known topic: the message that they could be, by their keys


_BY_TASK: Final = {route.task: route.message for route in ROUTES if route.task}

_BY_KEYS: Final[tuple[tuple[tuple[str, ...], type[v.FastMessage]], ...]] = (
    (("result", "list"), v.Result),
    (("result", "vm-name"), v.Result),
    (("cores", "result"), v.MmbwmonResponse),
    (("cores",), v.MmbwmonRequest),
    (("job-description",), v.StopMonitoring),
    (("KPI",), v.InitAgent),
    (("hostname",), v.Init),
    (("cgroup",), v.MmbwmonStop),
    (("threads", "numa"), v.SystemInfo),
    ((), v.MmbwmonStopAck),
)
"""The message of payloads with these keys and without a `task`: the first row that fits. Of equal ones, the first."""


def decode_alone(payload: bytes, *, dialect: Reading = "any") -> v.FastMessage:
    """Read a payload without a known topic.

    Raises:
        DecodeError: its keys fit no message, or it is not a valid message of that kind.

    >>> decode_alone(b"cgroup: poncos_0")
    MmbwmonStop(cgroup='poncos_0')
    """
    message: v.FastMessage = decode_as(_class_of(payload), payload, dialect=dialect)
    return message


def _class_of(payload: bytes) -> type[Any]:
    node = compose(payload)
    word = task_word(node)
    entries = node.entries if isinstance(node, MappingNode) else {}
    if word in _BY_TASK:
        return _BY_TASK[word]
    found = next((cls for keys, cls in _BY_KEYS if all(key in entries for key in keys) and (keys or not entries)), None)
    if found is None:
        keys = ", ".join(map(repr, list(entries)[:8]))
        raise DecodeError(f"no message has the keys {keys}", line=node.line, column=node.column)
    return found


# Messages as JSON: the keys of fast-lib, and the name of the class in `message`


LARGEST_JSON: Final = 2**24
"""The maximum number of bytes of JSON."""


def to_json(message: FastMessage, indent: int | None = None) -> str:
    """Write a message as JSON.

    Args:
        message: the message.
        indent: spaces for each level; None is one line.

    Raises:
        EncodeError: it has a value that JSON does not have.

    >>> from batprotocol.fast.values import VM, SuspendVM
    >>> to_json(SuspendVM([VM("vm1")], id="7"))
    '{"message": "SuspendVM", "list": [{"vm-name": "vm1"}], "id": "7"}'
    """
    try:
        return json.dumps(tree_of(message), indent=indent, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise EncodeError(f"it cannot be written as JSON: {error}") from None


def tree_of(value: Any) -> Any:
    """The dicts, lists and scalars of a value, as in JSON, without absent values."""
    if isinstance(value, FastMessage | MessagePart):
        found = {"message": type(value).__name__} if isinstance(value, FastMessage) else {}
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        fields = ((written, getattr(value, name)) for written, name in names)
        return {**found, **{name: tree_of(each) for name, each in fields if each is not None}}
    if isinstance(value, tuple | list):
        return [tree_of(each) for each in value]
    return dict(value) if isinstance(value, Mapping) else value


def from_json(text: str | bytes) -> FastMessage:
    """Read a message that was written as JSON.

    Raises:
        DecodeError: this is not a message; the error has the place.

    >>> from_json('{"message": "Quit", "id": 7}')
    Traceback (most recent call last):
        ...
    batprotocol.errors.DecodeError: id: Expected `str | null`, got `int`
    """
    if len(text) > LARGEST_JSON:
        raise DecodeError(f"expected at most {LARGEST_JSON:,} bytes, found {len(text):,}")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise DecodeError(f"this is not JSON: {error.msg}", line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError) as error:  # bytes that are not text, numbers of thousands of digits
        raise DecodeError(f"this is not JSON: {error}") from None
    name = found.get("message") if isinstance(found, dict) else None
    cls = MESSAGES.get(name) if isinstance(name, str) else None
    if cls is None:
        raise DecodeError(f"expected the name of a message, found {shown(name)}", "message")
    try:
        return msgspec.convert(found, cls)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `")
        raise DecodeError(reason, place.removeprefix("key in ").strip("`$").removeprefix(".")) from None
