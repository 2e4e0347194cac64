"""Help for tests of the protocol and of decision components.

`batprotocol.testing.strategies` generates values of the protocol with hypothesis, which it needs (the extra
`batprotocol[test]`), and `batprotocol.testing.simulations` inputs of simulations. `batprotocol.testing.rules`
has the rules of conformance. Importing `batprotocol` or this
package alone must not import hypothesis.
"""
