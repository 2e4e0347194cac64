"""What turns `schema/batprotocol.fbs` into `generated/`.

`flatc` parses the schema; `reflection` reads what flatc says of it; `description` and `codec` write Python from that,
and from nothing else. Nothing here is needed once the package is installed, and nothing but the standard library here.
"""
