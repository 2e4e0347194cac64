"""What runs for long looks up from time to time: so that signals reach compiled code, and other threads get their turn.

The interpreter does both between any two of its own steps. What mypyc has compiled goes on without it for as long as it
likes: so every loop that an input can make long takes its steps here (`counting`, compiled with them), and each so many
steps an interpreted function is called, which does nothing (`looking`). It must not know what the steps are.
"""
