"""`batproto conformance`: `command` has its parameters, `checking` has a component tested and shows what was found."""
