"""The reader of the dialect: from the message down to its scalars, guided by a schema's description."""

from __future__ import annotations

import struct
from typing import Any

from batprotocol._schema.description import SCHEMA
from batprotocol._util.counting import step
from batprotocol.errors import an, hint
from batprotocol.model import Doubles
from batprotocol.wire.binding import MAX_DEPTH, RANGES
from batprotocol.wire.dialect.at_once import (
    AFTER,
    KEY,
    MEMBER,
    NEXT_TAG,
    NUMERIC,
    PLAIN_NUMBER,
    RUNS,
    TEXT,
    UNNAMED,
    Plan,
    elements_of,
    plan_of,
    tags_of,
)
from batprotocol.wire.dialect.skipping import Skipping
from batprotocol.wire.dialect.tokens import CLOSING, DOUBLE, INTEGER, NUMERAL, WORD, quoted, real
from batprotocol.wire.reflection import Field, Schema, Type
from batprotocol.wire.tree import Tree, path_of

__all__ = ["read"]

# The dialect takes any byte for a boolean, and checks a union's tag against its members later.
_RANGES = RANGES | {"bool": (0, 255), "utype": (0, 255)}

_LONGEST_NAME = 80
"""Longer names are not compared with known ones, which would take time for their length."""


def read(data: bytes, strict: bool, skipped: list[str] | None, schema: Schema = SCHEMA) -> Tree:
    """The wire tree of a message in JSON, or a `DecodeError` that says what is wrong with it, and where.

    Args:
        data: the text.
        strict: refuse fields that the schema does not have. False skips them.
        skipped: a list to which the paths of skipped fields are appended.
        schema: the schema of the message.

    For any text, the time is proportional to its size.
    """
    return _Parser(data, strict, skipped, schema).message()


class _Parser(Skipping):
    """One reading of a message."""

    def __init__(self, data: bytes, strict: bool, skipped: list[str] | None, schema: Schema) -> None:
        super().__init__(data)
        self.schema = schema
        self.strict = strict
        self.skipped = skipped

    def message(self) -> Tree:
        if self.peek() == b"":
            self.fail("expected a JSON object, found nothing")
        if self.peek() != b"{":
            self.fail(f"expected '{{' to open {an(self.schema.root)}, found {self.found()}")
        self.tree = {}
        self.table(self.schema.root, 1, self.tree)
        if self.peek() != b"":
            self.fail(f"expected the end of the text after the message, found {self.found()}")
        return self.tree

    def table(self, name: str, depth: int, tree: Tree) -> None:
        """Read the table that starts here into `tree`, the fields in the order of the schema."""
        step()
        if depth > MAX_DEPTH:
            self.fail(f"tables nest more than {MAX_DEPTH} deep")
        opening = self.peek()
        closing = CLOSING.get(opening)
        if closing is None:
            self.fail(f"expected '{{' to open {an(name)}, found {self.found()}")
        self.at += 1
        plan = plan_of(self.schema, name)
        # The dialect also takes a table as a vector of all its fields in order, without their names.
        unnamed = plan.names if opening == b"[" else None
        seen: set[str] = set()
        start = self.at
        closed = self.plain_members(plan, unnamed is None, tree, seen) or (start == self.at and self.peek() == closing)
        while not closed:
            self.member(name, plan, unnamed, depth, tree, seen)
            closed = self.peek() == closing
            if not closed:
                self.expect(b",", "a field")
                closed = self.plain_members(plan, unnamed is None, tree, seen)
        if unnamed and len(seen) != len(unnamed):
            self.fail(f"expected all {len(unnamed)} fields of {name}, found {len(seen)}")
        for required in plan.required:
            if required not in tree:
                self.path.append(required)
                self.fail(f"this field of {name} is required and missing")
        for union in plan.unions:
            if union not in tree:  # what its type says, nobody reads
                tree.pop(f"{union}_type", None)
        self.at += 1
        if list(tree) != plan.kept:
            read = dict(tree)
            tree.clear()
            for field, has_default, default in plan.absent:
                if field in read:
                    tree[field] = read[field]
                elif has_default:
                    tree[field] = default

    def plain_members(self, plan: Plan, named: bool, tree: Tree, seen: set[str]) -> bool:
        """Read members as far as they are plain; return whether the table's closing bracket was reached."""
        pattern = MEMBER if named else UNNAMED
        while member := pattern.match(self.data, self.at):
            step()
            if named:
                known = plan.plain.get(member[1])
            else:
                known = plan.ordered[len(seen)] if len(seen) < len(plan.ordered) else None
            if known is not None:
                name, group, convert = known
                text = member[group]
                if text is None and group == NUMERIC and member[TEXT] and PLAIN_NUMBER.fullmatch(member[TEXT]):
                    text = member[TEXT]
                value = None if text is None or name in seen else convert(text)
                if value is None:
                    return False
                tree[name] = value
                seen.add(name)
            elif named and not self.strict and (name := member[1].decode("ascii")) not in plan.fields:
                if self.skipped is not None:
                    self.skipped.append(path_of([*self.path, name]))
            else:
                return False
            if member[AFTER] != b",":
                self.at = member.end() - 1
                return True
            self.at = member.end()
        return False

    def member(
        self,
        table: str,
        plan: Plan,
        unnamed: list[str] | None,
        depth: int,
        tree: Tree,
        seen: set[str],
    ) -> None:
        """Read one `name: value` of a table, or just the value of the next of its fields."""
        self.peek()
        start = self.at
        if unnamed is None:
            if plain := KEY.match(self.data, start):
                name = plain[1].decode("ascii")
                self.at = plain.end()
            else:
                name = self.key()
                self.expect(b":", f"the name {name!r}")
        elif len(seen) < len(unnamed):
            name = unnamed[len(seen)]
        else:
            self.fail(f"{table} has no more than {len(unnamed)} fields")
        field = plan.fields.get(name)
        self.path.append(name)
        if field is None:
            if self.strict:
                self.fail(f"{table} has no field of this name", start)
            if self.skipped is not None:
                self.skipped.append(path_of(self.path))
            self.skip(depth + 1)
        elif name not in plan.nullable or not self.is_null():
            if name in seen:
                self.fail("this field is given more than once", start)
            self.value(field, depth, tree)
            seen.add(name)
        self.path.pop()

    def is_null(self) -> bool:
        if self.peek() != b"n":
            return False
        word = WORD.match(self.data, self.at)
        if word and word[0] == b"null":
            start = self.at
            self.at = word.end()
            if self.peek() in (b",", b"}", b"]"):
                return True
            self.at = start
        return False

    def value(self, field: Field, depth: int, tree: Tree) -> None:
        """Read a field's value into the tree of its table."""
        name, type_ = field.name, field.type
        if type_.kind == "string":
            tree[name] = self.text()
        elif field.is_flexible:
            tree[name] = self.flexible(depth)
        elif field.nested and self.peek() != b"[":
            child: Tree = {}
            tree[name] = child
            self.table(field.nested, depth + 1, child)
        elif type_.kind in ("vector", "array"):
            assert type_.element
            start = self.at
            self.vector(name, type_.element, depth, tree)
            if type_.kind == "array":
                if len(tree[name]) != type_.length:
                    self.fail(f"expected {type_.length} elements, found {len(tree[name])}", start)
                tree[name] = list(tree[name])
        elif type_.kind in ("table", "union", "struct"):
            member = type_.name
            if type_.kind == "union":
                member = self.schema.unions[member].table_of(self.union_member(field, depth, tree))
            child = {}
            tree[name] = child
            self.table(member, depth + 1, child)
        else:
            tree[name] = self.number(type_, field.optional)

    def flexible(self, depth: int) -> Any:
        """Read the value of a FlexBuffer: any JSON."""
        step()
        if depth > MAX_DEPTH:
            self.fail(f"values nest more than {MAX_DEPTH} deep")
        first = self.peek()
        if first in (b'"', b"'"):
            return self.string()
        if first not in CLOSING:
            return self.flexible_scalar()
        self.at += 1
        found: dict[str, Any] = {}
        items: list[Any] = []
        closed = self.peek() == CLOSING[first]
        while not closed:
            name = f"[{len(items)}]"
            if first == b"{":
                name = self.key()
                if name in found:
                    self.fail(f"the key {quoted(name)} is given more than once")
                self.expect(b":", f"the name {name!r}")
            self.path.append(name)
            value = self.flexible(depth + 1)
            self.path.pop()
            if first == b"{":
                found[name] = value
            else:
                items.append(value)
            closed = self.peek() == CLOSING[first]
            if not closed:
                self.expect(b",", "a value")
        self.at += 1
        return found if first == b"{" else items

    def flexible_scalar(self) -> Any:
        what, text, start = self.scalar()
        if what != NUMERAL and text in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[text]
        if INTEGER.fullmatch(text):
            value = int(text[:40], 16 if "x" in text.lower() else 10)
            if len(text) > 40 or not -(2**63) <= value < 2**64:
                self.fail(f"expected an integer of 64 bits, found {quoted(text)}", start)
            return value
        if not DOUBLE.fullmatch(text):
            self.fail(f"expected a value, found {quoted(text)}", start)
        return real(text)

    def text(self) -> str:
        if self.peek() not in (b'"', b"'"):
            self.fail(f"expected a string, found {self.found()}")
        return self.string()

    def vector(self, name: str, element: Type, depth: int, tree: Tree) -> None:
        if self.peek() != b"[":
            self.fail(f"expected '[' to open a vector, found {self.found()}")
        self.at += 1
        items: list[Any] = []
        tree[name] = items
        closed = self.peek() == b"]"
        while not closed:
            step()
            run = RUNS[element.kind].match(self.data, self.at) if element.kind in RUNS else None
            if run:
                items += elements_of(element.kind, run[0])
                self.at = run.end()
            else:
                self.element(element, depth, items)
            closed = self.peek() == b"]"
            if not closed:
                self.expect(b",", "an element")
        self.at += 1
        if element.kind == "float64":
            tree[name] = Doubles(items)

    def element(self, element: Type, depth: int, items: list[Any]) -> None:
        """Read one element of a vector."""
        self.path.append(f"[{len(items)}]")
        if element.kind == "string":
            items.append(self.text())
        elif element.kind in ("table", "struct"):
            child: Tree = {}
            items.append(child)
            self.table(element.name, depth + 1, child)
        else:
            items.append(self.number(element, optional=False))
        self.path.pop()

    def union_member(self, field: Field, depth: int, tree: Tree) -> str:
        """The table of a union's value, from the type before it or, as the C++ parser does, right after it."""
        type_name = f"{field.name}_type"
        member = tree.get(type_name)
        if member is None:
            self.peek()
            start = self.at
            self.jump(depth + 1)
            after = NEXT_TAG.match(self.data, self.at)
            if after and after[1].decode("ascii") == type_name:
                member = tags_of(self.schema, field.type.name).get(after[2])
            if member is not None:
                tree[type_name] = member
            else:
                path = list(self.path)
                self.expect(b",", "a union without its type before it")
                if self.key() == type_name:
                    self.expect(b":", f"the name {type_name!r}")
                    self.path[-1] = type_name
                    member = tree[type_name] = self.number(Type("utype", field.type.name), optional=False)
                self.path = path
            self.at = start
            if member is None:
                self.fail(f"expected {type_name!r} right before or right after this union")
        if member == "NONE":
            self.fail(f"{an(field.type.name)} must not be NONE")
        return str(member)

    def number(self, type_: Type, optional: bool) -> Any:
        """A scalar field's value: a number, a name, or either of them in a string."""
        what, text, start = self.scalar()
        if text == "null" and what != NUMERAL:
            if optional:
                return None
            self.fail("this field cannot be null", start)
        if type_.kind == "bool" and text in ("true", "false"):
            return text == "true"
        if type_.kind == "float64":
            return self.double(text, start)
        if type_.kind == "float32":
            return _single(self.double(text, start))
        if what != NUMERAL and (text[:1].isalpha() or text[:1] == "_"):
            return self.named(type_, text, start)
        if not INTEGER.fullmatch(text.rstrip(" ")):
            what = "a number with a fraction or exponent" if what == NUMERAL else what
            self.fail(f"expected {self.described(type_)}, found {what}, {quoted(text)}", start)
        return self.integer(type_, text.strip(), start)

    @staticmethod
    def described(type_: Type) -> str:
        if type_.name:
            return an(type_.name)
        return "true or false" if type_.kind == "bool" else f"an integer ({type_.kind})"

    def double(self, text: str, start: int) -> float:
        text = text.rstrip(" ")
        if not DOUBLE.fullmatch(text):
            self.fail(f"expected a double, found {quoted(text)}", start)
        return real(text)

    def integer(self, type_: Type, text: str, start: int) -> Any:
        least, most = _RANGES[self.schema.kind_of(type_)]
        digits = text.lstrip("+-")
        base = 16 if digits[:2] in ("0x", "0X") else 10
        digits = (digits[2:] if base == 16 else digits).lstrip("0")
        value = int(digits[:32] or "0", base) * (-1 if text.startswith("-") else 1)
        if not least <= value <= most or len(digits) > 32:
            self.fail(f"expected {self.described(type_)}, in [{least}, {most}], found {quoted(text)}", start)
        if type_.kind == "bool":
            return bool(value)
        if type_.kind == "utype":
            union = self.schema.unions[type_.name]
            member = union.numbered_as(value) if value else "NONE"
            if not member:
                most = max(union.numbers, default=len(union.members))
                self.fail(f"expected {an(type_.name)}, found type {value} of 1 to {most}", start)
            return member
        return self.schema.names[type_.name].get(value, value) if type_.kind == "enum" else value

    def named(self, type_: Type, text: str, start: int) -> Any:
        """An enum's or a union's member by name; names separated by spaces are or-ed, as the C++ parser does."""
        if type_.kind == "utype":
            members = self.schema.unions[type_.name].members
            if text != "NONE" and text not in members:
                self.fail(f"{type_.name} has no member {quoted(text)}{hint(text[:_LONGEST_NAME], members)}", start)
            return text
        if type_.kind != "enum":
            self.fail(f"expected {self.described(type_)}, found {quoted(text)}", start)
        values, number = self.schema.enums[type_.name].values, 0
        for word in text.split(" "):
            if word not in values:
                self.fail(f"{type_.name} has no member {quoted(word)}{hint(word[:_LONGEST_NAME], values)}", start)
            number |= values[word]
        return self.schema.names[type_.name].get(number, number)


def _single(value: float) -> float:
    """A number rounded to four bytes."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("-inf" if value < 0 else "inf")
