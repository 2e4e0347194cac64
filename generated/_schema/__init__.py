"""Modules made from the schema. Private: use `batprotocol` and `batprotocol.fb`."""
