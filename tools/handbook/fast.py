"""The messages of FaST, from the tables of its codec: the topics of messages, and the keys of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from batprotocol.fast.commands import NAMES, class_of, keys, task_of
from batprotocol.fast.topics import MESSAGES, ROUTES
from batprotocol.schemas.commands.definitions import FieldText, title
from handbook.markdown import capitalised, code, definitions, prose, table, target

__all__ = ["messages", "names", "routes"]

_PAGE: Final = "reference/fast"


def names() -> Mapping[str, tuple[str, str]]:
    """The places of messages and of their parts."""
    return {name: (_PAGE, _anchor(name)) for name in NAMES}


def _anchor(name: str) -> str:
    return f"fast-{name.lower()}"


def routes(page: str, argument: str) -> str:
    """The table of messages and topics."""
    assert not any(route.retained for route in ROUTES), "the page says that nothing is retained"
    heads = ("message", "`task`", "topic", "from", "to", "QoS")
    return (
        table(
            heads,
            (
                (
                    code(route.message.__name__),
                    code(route.task) if route.task else "",
                    code(str(route.channel)),
                    str(route.sender),
                    str(route.receiver),
                    str(route.qos),
                )
                for route in ROUTES
            ),
        )
        + "\n"
    )


def messages(page: str, which: str) -> str:
    """All `messages`, or all `parts` of messages, each with its keys."""
    assert which in {"messages", "parts"}
    return "\n\n".join(_message(name) for name in NAMES if (name in MESSAGES) == (which == "messages")) + "\n"


def _message(name: str) -> str:
    cls = class_of(name)
    task = task_of(cls)
    found = list(keys(cls))
    items = [_key(each) for each in found]
    if task:
        items.insert(0, (f"{code('task')} {', '.join((code(task.kind), *task.notes))}", "The kind of the message."))
    parts = [f"{target(_anchor(name))}\n### {code(name)}", prose(title(cls))]
    return "\n\n".join([*parts, definitions(items) if items else "It has no keys."])


def _key(key: FieldText) -> tuple[str, str]:
    assert key.meaning, f"no docstring documents {key.name}"
    return f"{code(key.name)} {', '.join((key.kind, *key.notes))}", prose(capitalised(key.meaning))
