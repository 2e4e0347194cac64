#!/usr/bin/env bash
# faketime's `@` is no clock: each program that starts under it begins at the moment again.
#
# Versions: faketime 0.9.10 (Debian 12).
# Guess: `faketime -f '@2020-01-01 00:00:00' sh` starts a clock at that moment; a program that the shell starts two seconds later
# sees 00:00:02, as with the form without `@`.
# Seen: every process sees 00:00:00 at its start. So time stands still over a script of short commands, and two daemons of one
# system disagree by the time between their starts. An offset (`faketime '2020-01-01 00:00:00'`) is one clock for all.
# Here: the recorder of real Slurms uses an offset, around all daemons and jobs at once.
set -euo pipefail

place=$(mktemp -d)

cd "$place"
trap 'rm -rf "$place"' EXIT
export TZ=UTC
command -v faketime >/dev/null || { echo "faketime is missing; install Debian 12's faketime 0.9.10"; exit 1; }
case $(dpkg-query -W -f '${Version}' faketime) in 0.9.10-*) ;; *) echo "this needs faketime 0.9.10"; exit 1 ;; esac

cat >look.sh <<'FILE'
export TZ=UTC
date +%T
sleep 2
date +%T
FILE

{
    echo "faketime $(dpkg-query -W -f '${Version}' faketime)"
    echo "an offset:" $(faketime '2020-01-01 00:00:00' sh look.sh | tr '\n' ' ')
    echo "with @:" $(faketime -f '@2020-01-01 00:00:00' sh look.sh | tr '\n' ' ')
} | tee seen.txt

diff seen.txt - <<'EXPECTED'
faketime 0.9.10-2.1
an offset: 00:00:00 00:00:02
with @: 00:00:00 00:00:00
EXPECTED
echo "as it was seen"
