"""Written by the build from the schema. Private: use `batprotocol` and `batprotocol.fb`."""
