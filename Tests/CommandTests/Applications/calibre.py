#!/usr/bin/env python3
"""Runs the SQL of a file as Calibre would, which has functions of its own."""
import uuid

import shell


class SortedConcatenation:
    def __init__(self):
        self.parts = []

    def step(self, place, value):
        self.parts.append((place, value))

    def finalize(self):
        return ",".join(value for _, value in sorted(self.parts))


connection = shell.connect()
connection.create_function("title_sort", 1, str.lower)
connection.create_function("uuid4", 0, lambda: str(uuid.uuid4()))
connection.create_aggregate("sortconcat", 2, SortedConcatenation)
shell.run(connection)
