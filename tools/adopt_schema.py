#!/usr/bin/env python3
"""Adopt another schema as the library's own: `tools/adopt_schema.py NEW.fbs 2027-01`.

The replaced schema becomes one of the known ages, described by its differences. The program writes `generated/` again.
It lists the differences, with the places in the code that use them. With --dry-run, it only prints this list.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from batprotocol.errors import InputError
from batprotocol.schemas import TODAY, Difference, Verdict, described, differences, read_schema

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schema" / "batprotocol.fbs"
READING = ROOT / "batprotocol" / "schemas" / "_sources.py"
AGES = ROOT / "batprotocol" / "schemas" / "ages"

ROOMS = (
    ("model", "the class: a field, its type, default and docstring"),
    ("builder", "the method `add_...`, and what it fills in"),
    ("conversation", "the rules, and the functions that judge it"),
    ("edc", "the scheduler's method"),
    ("simulator", "what the embedded Batsim does with it"),
    ("testing", "the strategies, and what conformance does"),
    ("legacy/translate", "the translations of the older protocols, and of the ages"),
)
"""The places that a change of the schema affects, and the things to check there."""


def names(table: str) -> list[str]:
    """The names of a table in the code: for an event, also its methods, `add_execute_job` and `on_job_completed`."""
    in_methods = re.sub(r"(?<!^)(?=[A-Z])", "_", table).lower().removesuffix("_event")
    return [table, in_methods] if table.endswith("Event") else [table]


def places(table: str) -> Iterator[str]:
    """The places in the code that use a table, enum or union, a line for each package."""
    pattern = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(names(table))})(?![A-Za-z])")
    for room, what in ROOMS:
        found = []
        for path in sorted((ROOT / "batprotocol" / room).rglob("*.py")):
            lines = path.read_text().splitlines()
            number = next((number for number, line in enumerate(lines, 1) if pattern.search(line)), None)
            if number is not None:
                found.append(f"{path.relative_to(ROOT).as_posix()}:{number}")
        if found:
            more = f" and {len(found) - 3} more files" if len(found) > 3 else ""
            yield f"      {room}: {what}\n        {', '.join(found[:3])}{more}"


def report(found: list[Difference]) -> Iterator[str]:
    """The differences, and the places in the code that use them."""
    told: set[str] = set()
    for each in found:
        worst = max(*each.old_reads_new, *each.new_reads_old)
        yield f"{each.place} {each.kind}{f': {each.detail}' if each.detail else ''}" + (
            f" (at worst {worst})" if worst > Verdict.FINE else ""
        )
        table = each.place.partition(".")[0]
        if table not in told:
            told.add(table)
            yield from places(table)


def adopt(new: Path, age: str) -> None:
    """Replace the schema, and describe the old one."""
    description = described(read_schema(SCHEMA), read_schema(new))
    (AGES / f"{TODAY}.txt").write_text(description, encoding="utf-8")
    text = READING.read_text(encoding="utf-8")
    text = text.replace(f'TODAY: Final = "{TODAY}"', f'TODAY: Final = "{age}"')
    text = re.sub(r"(AGES: Final = \([^)]*), TODAY\)", rf'\1, "{TODAY}", TODAY)', text)
    READING.write_text(text, encoding="utf-8")
    shutil.copyfile(new, SCHEMA)
    subprocess.run([sys.executable, str(ROOT / "tools" / "compile_schema.py")], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("schema", type=Path, help="the new schema, an .fbs file")
    parser.add_argument("age", help="the date of its publication, for example 2027-01")
    parser.add_argument("--dry-run", action="store_true", help="change nothing; list the differences and their places")
    arguments = parser.parse_args()
    if not re.fullmatch(r"\d{4}-\d\d(-\d\d)?", arguments.age) or arguments.age <= TODAY:
        parser.error(f"an age is a month or a day after {TODAY}, as 2027-01, and not {arguments.age!r}")
    try:
        found = differences(read_schema(SCHEMA), read_schema(arguments.schema))
    except InputError as error:
        parser.error(str(error))
    for line in report(found):
        print(line)
    if not found:
        print("the schemas do not differ")
    elif not arguments.dry_run:
        adopt(arguments.schema, arguments.age)
        print(f"\n{TODAY} is an age now. Next: pip install -e ., then pytest tests/house/test_places.py tests/model")
    return 0


if __name__ == "__main__":
    sys.exit(main())
