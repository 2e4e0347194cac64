"""Text over Unix sockets, the protocol before Batsim 1: the events of its fourteen stamps, and the codec.

What the jobs ask for is not said here: it is in Redis (`batprotocol.legacy.store`).
"""
