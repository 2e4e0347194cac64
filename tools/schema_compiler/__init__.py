"""The compiler of `schema/batprotocol.fbs` to `generated/`.

`flatc` parses the schema. `reflection` reads the output of flatc. `description` and `codec` write Python from this
alone. The installed package does not need these modules, and they need only the standard library.
"""
