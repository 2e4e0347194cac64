"""`batproto`: protocol messages on the command line. Arguments in, text out; it has no logic of its own.

Nothing outside this folder may import `click` or `rich`.
"""
