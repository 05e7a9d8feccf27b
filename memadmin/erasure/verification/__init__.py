"""The independent second look: does the database, as it really is, still hold what was erased?

It shares nothing with what erases. It asks the database for its tables and columns instead of the models, so that a table which somebody
added yesterday is looked through too, and it must first find controls that it planted itself: a look that finds nothing and would find
nothing is worth nothing.
"""
