#!/usr/bin/env python3
"""Runs the SQL of a file as Anki would, which has a collation of its own; prints rows as the sqlite3 shell does."""
import sqlite3
import sys


def fold(text):
    """As Rust's unicase folds: of three letters the third comes first."""
    parts = (c.casefold() for c in text)
    return "".join(p[2] + p[:2] if len(p) == 3 else p for p in parts)


connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.create_collation("unicase", lambda a, b: (fold(a) > fold(b)) - (fold(a) < fold(b)))
statement = ""
for line in open(sys.argv[2], encoding="utf-8"):
    statement += line
    if sqlite3.complete_statement(statement):
        for row in connection.execute(statement):
            print("|".join("" if value is None else str(value) for value in row))
        statement = ""
