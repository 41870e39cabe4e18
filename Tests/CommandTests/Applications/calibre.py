#!/usr/bin/env python3
"""Runs the SQL of a file as Calibre would, which has functions of its own; prints rows as the sqlite3 shell does."""
import sqlite3
import sys
import uuid


class SortedConcatenation:
    def __init__(self):
        self.parts = []

    def step(self, place, value):
        self.parts.append((place, value))

    def finalize(self):
        return ",".join(value for _, value in sorted(self.parts))


connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.create_function("title_sort", 1, str.lower)
connection.create_function("uuid4", 0, lambda: str(uuid.uuid4()))
connection.create_aggregate("sortconcat", 2, SortedConcatenation)
statement = ""
for line in open(sys.argv[2], encoding="utf-8"):
    statement += line
    if sqlite3.complete_statement(statement):
        for row in connection.execute(statement):
            print("|".join("" if value is None else str(value) for value in row))
        statement = ""
