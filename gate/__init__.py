"""Retrieval gate: measures retrieval on a labelled case set and compares it with a committed baseline.

Nothing is imported here: start-up time is most of a small run, so each command imports what it uses.
The Python interface for notebooks and tests is `gate.api`.
"""

__version__ = "0.1.0"
