"""The changes between two states of a struct. It must not know the other parts of a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from batprotocol.wire.reflection import Table, Type

__all__ = ["StructChange", "struct_changes"]


class StructChange(NamedTuple):
    """A change of a struct.

    Attributes:
        kind: the kind of the difference.
        place: the struct or its field.
        detail: the old and the new form.
        is_layout: whether bytes are read as those of another field, or of none.
        text: the effect on JSON: "fine", "refused" or "misread".
    """

    kind: str
    place: str
    detail: str
    is_layout: bool
    text: str


def struct_changes(old: Table, new: Table, same: Callable[[Type, Type], bool]) -> Iterator[StructChange]:
    """The changes. JSON of a struct has all of its fields, by name.

    Args:
        old: the struct before.
        new: the struct now.
        same: whether two types are the same.
    """
    olds, news = ({field.name: field for field in each.fields} for each in (old, new))
    gone = {field.offset: field for field in olds.values() if field.name not in news}
    is_found = False
    for field in news.values():
        place, before = f"{new.name}.{field.name}", olds.get(field.name)
        was = gone.get(field.offset)
        if before is None and was is not None and same(was.type, field.type):
            del gone[field.offset]
            yield StructChange("renamed", place, f"it was {was.name}", False, "refused")
        elif before is None:
            is_found = True
            yield StructChange("added", place, f"{field.type}, at byte {field.offset}", True, "refused")
        elif not same(before.type, field.type):
            is_found = True
            text = "refused" if "array" in (before.type.kind, field.type.kind) else "misread"
            yield StructChange("type", place, f"{before.type} before, {field.type} now", True, text)
        elif before.offset != field.offset:
            is_found = True
            yield StructChange("moved", place, f"byte {before.offset} before, {field.offset} now", True, "fine")
    for field in gone.values():
        is_found = True
        yield StructChange("removed", f"{old.name}.{field.name}", str(field.type), True, "refused")
    if old.size != new.size and not is_found:
        yield StructChange("size", new.name, f"{old.size} bytes before, {new.size} now", True, "fine")
