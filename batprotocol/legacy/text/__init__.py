"""Text over Unix sockets, the protocol before Batsim 1: the events of its sixteen stamps, and the codec.

`stamps` has the table, `lenient` what Batsim takes besides, `framing` the size before each message. What the jobs ask
for is not said here: it is in Redis (`batprotocol.legacy.store`), or in the workload file.
"""
