"""The reader of reflection schemas, `batprotocol/wire/reflection.py`, which the build needs before there is a
library.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

__all__ = ["Enum", "Field", "Schema", "Table", "Type", "Union", "read"]

if TYPE_CHECKING:
    from batprotocol.wire.reflection import Enum, Field, Schema, Table, Type, Union
    from batprotocol.wire.reflection import read_reflection as read
else:
    NAME = "schema_compiler._reflection"
    spec = importlib.util.spec_from_file_location(
        NAME, Path(__file__).resolve().parents[2] / "batprotocol" / "wire" / "reflection.py"
    )
    sys.modules[NAME] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    Enum, Field, Schema = module.Enum, module.Field, module.Schema
    Table, Type, Union, read = module.Table, module.Type, module.Union, module.read_reflection
