"""Decision components inside Batsim's process: a scheduler as a shared library that Batsim loads.

`options` makes the path of the library and the initialization data that Batsim needs. The library, which the C files of
this folder make, starts an interpreter in Batsim's process (`embedded.h` explains it) that runs `guest`. There, the
same session that a process has behind its socket gets its messages from function calls.
"""
