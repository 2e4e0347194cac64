"""`batproto fast`: messages over a broker.

`command` has its commands, and `live` the parameters of those that need a broker: `node`, `watch` and `send` do their
work. `check` is that of messages.
"""
