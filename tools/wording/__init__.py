"""The wording of what users read: `extracting` finds the prose of a file, `checks` reports wording to change."""
