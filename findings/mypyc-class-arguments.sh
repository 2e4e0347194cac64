#!/usr/bin/env bash
# A class that mypyc compiles loses the arguments of its class statement, without a word.
#
# Versions: mypy 2.4.0 (its compiler mypyc), msgspec 0.22.0.
# Guess: arguments such as `frozen=True` reach the metaclass and `__init_subclass__`, compiled or not.
# Seen: the source runs as guessed. Compiled, `__init_subclass__` gets no argument, and a frozen msgspec.Struct can be
# changed. Neither mypy nor mypyc warns.
# Here: such modules are not compiled (PLAIN in tools/compiled.py).
#
# It needs Python with its headers, and a C compiler. It prints the output, and fails if the behaviour is another one.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q mypy==2.4.0 msgspec==0.22.0 setuptools==80.9.0

cat >point.py <<'PYTHON'
import msgspec


class Point(msgspec.Struct, frozen=True):
    x: float


class Parent:
    kept = "nothing"

    def __init_subclass__(cls, kept: str = "nothing") -> None:
        cls.kept = kept


class Child(Parent, kept="the argument"):
    pass
PYTHON
cat >look.py <<'PYTHON'
import point

one = point.Point(x=1.0)
try:
    one.x = 2.0
except AttributeError:
    pass
print(f"{'source' if point.__file__.endswith('.py') else 'compiled'}: x={one.x}, kept {point.Child.kept}")
PYTHON

{
    venv/bin/python look.py
    venv/bin/mypy --strict point.py
    venv/bin/mypyc point.py >compiling.txt 2>&1 || { cat compiling.txt; exit 1; }
    venv/bin/python look.py
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
source: x=1.0, kept the argument
Success: no issues found in 1 source file
compiled: x=2.0, kept nothing
EXPECTED
echo "as it was seen"
