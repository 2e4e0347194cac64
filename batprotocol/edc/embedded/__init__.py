"""Decision components inside Batsim's process: a scheduler as a shared library that Batsim loads.

`options` tells where that library is and what Batsim is to be given with it. The library, which the C files of this
folder make, carries an interpreter into Batsim's process (`embedded.h` tells how), and has it run `guest`: there, the
session that a process has at its socket gets its messages from a function call.
"""
