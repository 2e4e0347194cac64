"""What the build makes of the schema. Private: use `batprotocol` and `batprotocol.fb`."""
