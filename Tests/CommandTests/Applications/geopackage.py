#!/usr/bin/env python3
"""Runs the SQL of a file as GDAL would, whose functions tell where a point lies; prints rows as the sqlite3 shell does."""
import sqlite3
import struct
import sys

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for place, name in enumerate(["X", "Y"]):
    for end in ["Min", "Max"]:
        connection.create_function(f"ST_{end}{name}", 1, lambda blob, place=place: struct.unpack("<dd", blob[13:29])[place])
connection.create_function("ST_IsEmpty", 1, lambda blob: 0)
statement = ""
for line in open(sys.argv[2], encoding="utf-8"):
    statement += line
    if sqlite3.complete_statement(statement):
        for row in connection.execute(statement):
            print("|".join("" if value is None else str(value) for value in row))
        statement = ""
