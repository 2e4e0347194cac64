"""`batproto dump`, `convert`, `validate` and `check`: messages that somebody has kept.

`command` has their parameters, and the modules of their names do the work. Which events are asked for is in
`selection`, and what people are shown of them in `tree`.
"""
