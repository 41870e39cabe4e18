"""Runs the SQL of a file over a connection that has what an application brings; prints rows as the sqlite3 shell does."""
import sqlite3
import sys


def connect():
    return sqlite3.connect(sys.argv[1], isolation_level=None)


def run(connection):
    statement = ""
    for line in open(sys.argv[2], encoding="utf-8"):
        statement += line
        if sqlite3.complete_statement(statement):
            for row in connection.execute(statement):
                print("|".join("" if value is None else str(value) for value in row))
            statement = ""
