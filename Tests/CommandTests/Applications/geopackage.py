#!/usr/bin/env python3
"""Runs the SQL of a file as GDAL would, whose functions tell where a point lies."""
import struct

import shell

connection = shell.connect()
for place, name in enumerate(["X", "Y"]):
    for end in ["Min", "Max"]:
        connection.create_function(f"ST_{end}{name}", 1, lambda blob, place=place: struct.unpack("<dd", blob[13:29])[place])
connection.create_function("ST_IsEmpty", 1, lambda blob: 0)
shell.run(connection)
