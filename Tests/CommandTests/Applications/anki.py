#!/usr/bin/env python3
"""Runs the SQL of a file as Anki would, which has a collation of its own."""
import shell


def fold(text):
    """As Rust's unicase folds: of three letters the third comes first."""
    parts = (c.casefold() for c in text)
    return "".join(p[2] + p[:2] if len(p) == 3 else p for p in parts)


connection = shell.connect()
connection.create_collation("unicase", lambda a, b: (fold(a) > fold(b)) - (fold(a) < fold(b)))
shell.run(connection)
