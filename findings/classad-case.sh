#!/usr/bin/env bash
# In ClassAds "ABC" == "abc" is true, and whether a list has a string depends on how the list is written.
#
# Versions: htcondor 25.14.1 (PyPI, its module classad2).
# Guess: strings are equal if their characters are; `==` and `=?=` only differ for undefined values; the two functions that look
# into a list agree.
# Seen: `==` and `<` ignore case, `=?=` does not. `member("a", {"A"})` is true, and `stringListMember("a", "A")` is false. Truth
# values are numbers: `true + 1` is 2. But the number 1.0 is not the number 1 for `=?=`.
# Here: no format of the library takes ClassAds.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv venv
venv/bin/pip install -q htcondor==25.14.1

cat >look.py <<'PYTHON'
import classad2
import htcondor2

print("htcondor", htcondor2.version().split()[1])
for each in (
    '"ABC" == "abc"',
    '"ABC" =?= "abc"',
    '"a" < "B"',
    'member("a", {"A", "b"})',
    'stringListMember("a", "A,b")',
    "true + 1",
    "1.0 == 1",
    "1.0 =?= 1",
):
    print(each, "->", classad2.ExprTree(each).eval())
PYTHON

venv/bin/python look.py | tee seen.txt

diff seen.txt - <<'EXPECTED'
htcondor 25.14.1
"ABC" == "abc" -> True
"ABC" =?= "abc" -> False
"a" < "B" -> True
member("a", {"A", "b"}) -> True
stringListMember("a", "A,b") -> False
true + 1 -> 2
1.0 == 1 -> True
1.0 =?= 1 -> False
EXPECTED
echo "as it was seen"
