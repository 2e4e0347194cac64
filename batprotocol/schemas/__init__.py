"""Schemas of other ages: earlier versions of the protocol, or versions of other projects.

The schema has changed, but its version number is still 0.1.0, and flatbuffers does not detect that two sides use
different schemas. This package reads any schema (`read_schema`), reads and writes its messages (`Codec`), compares two
schemas (`differences`), finds the age of a message (`Fitting`), and makes a `dissector` for Wireshark.
`batprotocol.legacy` translates conversations between ages.

`_sources` finds schemas and the lines of their parts. `_codec` uses the careful readers of `wire`, and adds a writer.
`_reports` writes the findings of `_differences` for other programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names

if TYPE_CHECKING:
    from batprotocol.schemas._codec import Codec, Record, rounded
    from batprotocol.schemas._differences import Difference, Effect, Verdict, differences, worst
    from batprotocol.schemas._dissector import dissector
    from batprotocol.schemas._fitting import Fitting, Verdicts, misfit, other_ages
    from batprotocol.schemas._sources import AGES, TODAY, age, ages, applied, described, read_schema
    from batprotocol.wire.reflection import Enum, Field, Schema, Table, Type, Union
else:
    _MODULES = {
        "_codec": ("Codec", "Record", "rounded"),
        "_differences": ("Difference", "Effect", "Verdict", "differences", "worst"),
        "_dissector": ("dissector",),
        "_fitting": ("Fitting", "Verdicts", "misfit", "other_ages"),
        "_sources": (
            "AGES", "TODAY", "Enum", "Field", "Schema", "Table", "Type", "Union", "age", "ages", "applied", "described",
            "read_schema",
        ),
    }  # fmt: skip
    """The names of each module, which is imported at their first use: most commands use few of them."""

    __getattr__ = old_names(__name__, {}, late={name: module for module, names in _MODULES.items() for name in names})

__all__ = [
    "AGES",
    "TODAY",
    "Codec",
    "Difference",
    "Effect",
    "Enum",
    "Field",
    "Fitting",
    "Record",
    "Schema",
    "Table",
    "Type",
    "Union",
    "Verdict",
    "Verdicts",
    "age",
    "ages",
    "applied",
    "described",
    "differences",
    "dissector",
    "misfit",
    "other_ages",
    "read_schema",
    "rounded",
    "worst",
]
