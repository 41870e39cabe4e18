#!/usr/bin/env python3
"""Makes example stores and writes to them as any program would, with Python's own sqlite3 and a seed.

    rows.py make SCHEMA.sql STORE [--seed N] [--rows N]      a new database with rows in every table
    rows.py add STORE [--seed N] [--rows N] --tag TAG        one transaction: new rows in every table, pointing at each other
    rows.py churn STORE [--seed N] [--operations N] --tag TAG  inserts, updates, deletes, replacements and key changes in
                                                             transactions of several sizes, some rolled back

It knows no table: columns, keys and references are read from the schema, so it writes to whatever it is given. What a
constraint refuses is skipped. `churn` prints how many operations were committed, and never touches a table named `plain`
but to insert, so that what was inserted there can be counted.
"""

import argparse
import random
import sqlite3
import sys
import zlib

WORDS = "amber birch cedar delta ember fjord grove heath islet jetty knoll larch moraine north ocean pine quay river".split()


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Column:
    def __init__(self, name, declared, required, key):
        self.name, self.required, self.key = name, required, key
        self.unique = bool(key)
        declared = declared.upper()
        self.date = "DATE" in declared
        if "INT" in declared:
            self.kind = "integer"
        elif any(word in declared for word in ("CHAR", "CLOB", "TEXT")):
            self.kind = "text"
        elif "BLOB" in declared:
            self.kind = "blob"
        elif any(word in declared for word in ("REAL", "FLOA", "DOUB")):
            self.kind = "real"
        elif declared in ("", "ANY"):
            self.kind = "any"
        else:
            self.kind = "numeric"


class Table:
    def __init__(self, db, name):
        self.name = name
        self.columns = []
        for _, column, declared, required, _, key, hidden in db.execute(f"PRAGMA table_xinfo({quoted(name)})"):
            if hidden == 0:
                self.columns.append(Column(column, declared, bool(required), key))
        indexed = any(row[3] == "pk" for row in db.execute(f"PRAGMA index_list({quoted(name)})"))
        keys = [c for c in self.columns if c.key]
        self.alias = keys[0] if len(keys) == 1 and keys[0].kind == "integer" and not indexed else None
        self.keys = sorted(keys, key=lambda c: c.key)
        for _, index, unique, *_ in db.execute(f"PRAGMA index_list({quoted(name)})").fetchall():
            if unique:
                named = {row[2] for row in db.execute(f"PRAGMA index_info({quoted(index)})")}
                for column in self.columns:
                    column.unique = column.unique or column.name in named
        self.references = {}
        for _, _, parent, column, to, *_ in db.execute(f"PRAGMA foreign_key_list({quoted(name)})"):
            self.references[column] = (parent, to)
        # REPLACE fires no delete triggers, so an app that keeps something by triggers does not use it.
        self.triggers = db.execute(
            "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ? AND name NOT LIKE 'logsync%'", (name,)
        ).fetchone()[0]


class Writer:
    def __init__(self, path, seed, tag, collides=False):
        self.db = sqlite3.connect(path, timeout=60, isolation_level=None)
        self.db.execute("PRAGMA foreign_keys = ON")
        self.random = random.Random(f"{seed}/{tag}")
        self.tag = tag
        self.number = 0
        # Where collisions are not wanted, what is unique here is unique among writers with other tags too.
        self.collides = collides
        self.base = zlib.crc32(tag.encode()) * 1000
        self.read_tables()

    def read_tables(self):
        names = [
            name
            for schema, name, kind, *_ in self.db.execute("PRAGMA table_list")
            if schema == "main" and kind == "table" and not name.lower().startswith(("logsync_", "sqlite_"))
        ]
        tables = {name.lower(): Table(self.db, name) for name in names}
        for table in tables.values():
            for column, (parent, to) in table.references.items():
                if to is None:
                    table.references[column] = (parent, tables[parent.lower()].keys[0].name)
        # Parents first; in a cycle, a table whose references may be NULL goes before the others.
        order, left = [], dict(sorted(tables.items()))

        def waits(name, hard):
            required = {c.name for c in left[name].columns if c.required or c.key}
            return any(
                parent.lower() in left and parent.lower() != name and (column in required or not hard)
                for column, (parent, _) in left[name].references.items()
            )

        while left:
            ready = [n for n in left if not waits(n, hard=False)]
            ready = ready or [n for n in left if not waits(n, hard=True)][:1] or list(left)[:1]
            for name in ready:
                order.append(left.pop(name))
        self.tables = order

    def value(self, column):
        r = self.random
        name = column.name.lower()
        if column.date:
            year = r.randint(1950, 1990) if name.startswith("birth") else r.randint(2002, 2024)
            return f"{year:04}-{r.randint(1, 12):02}-{r.randint(1, 28):02}"
        if name == "discount":
            return r.choice([0, 0.05, 0.1, 0.25])
        if name == "active":
            return r.choice([0, 1, 1])
        if not column.key and not column.required and r.random() < 0.08:
            return None
        self.number += 1
        kind = column.kind
        if kind == "any":
            kind = r.choice(["integer", "real", "text", "blob"])
        if kind == "integer":
            if column.unique and not (self.collides and r.random() < 0.7):
                return self.base + self.number
            return r.choice([r.randint(1, 100), r.randint(1, 10**6), r.randint(2**40, 2**62) if not column.key else self.number])
        if kind == "numeric":
            return round(r.uniform(0.5, 30), 2)
        if kind == "real":
            return r.choice([r.uniform(0, 1e6), float(r.randint(0, 50)), 1e300, 0.1])
        if kind == "blob":
            return r.randbytes(r.choice([0, 3, 40, 700])) + (f"{self.tag}{self.number}".encode() if column.key else b"")
        if self.collides and column.unique and r.random() < 0.4:
            return r.choice(WORDS)
        words = " ".join(r.choices(WORDS, k=r.choice([1, 2, 4])))
        return r.choice([f"{words} {self.tag}{self.number}", f"{words} {self.tag}{self.number}", f"é{words} {self.tag}{self.number}\U0001f4d7"])

    def existing(self, table, column):
        row = self.db.execute(
            f"SELECT {quoted(column)} FROM {quoted(table)} ORDER BY 1 LIMIT 1 OFFSET abs(?) % max(1, (SELECT count(*) FROM {quoted(table)}))",
            (self.random.randrange(2**40),),
        ).fetchone()
        return row[0] if row else None

    def row(self, table, fresh=None):
        """Columns and values of a new row; references prefer rows made in this transaction."""
        values = {}
        for column in table.columns:
            if column.name in table.references:
                parent, to = table.references[column.name]
                made = (fresh or {}).get(parent.lower())
                if made and self.random.random() < 0.8:
                    values[column.name] = self.db.execute(
                        f"SELECT {quoted(to)} FROM {quoted(parent)} WHERE rowid = ?", (self.random.choice(made),)
                    ).fetchone()[0]
                elif not column.required and not column.key and self.random.random() < 0.2:
                    values[column.name] = None
                else:
                    values[column.name] = self.existing(parent, to)
            elif column is table.alias:
                continue
            else:
                values[column.name] = self.value(column)
        return values

    def insert(self, table, fresh=None, verb="INSERT"):
        values = self.row(table, fresh)
        names = ", ".join(quoted(n) for n in values)
        marks = ", ".join("?" * len(values))
        cursor = self.db.execute(f"{verb} INTO {quoted(table.name)} ({names}) VALUES ({marks})", list(values.values()))
        return cursor.lastrowid

    def where(self, table):
        """A WHERE clause that picks one row by its key, and its arguments; None where the table is empty."""
        keys = table.keys
        selected = ", ".join(quoted(k.name) for k in keys)
        row = self.db.execute(
            f"SELECT {selected} FROM {quoted(table.name)} ORDER BY {selected} LIMIT 1 "
            f"OFFSET abs(?) % max(1, (SELECT count(*) FROM {quoted(table.name)}))",
            (self.random.randrange(2**40),),
        ).fetchone()
        if row is None:
            return None
        return " AND ".join(f"{quoted(k.name)} IS ?" for k in keys), list(row)

    def operation(self):
        r = self.random
        table = r.choice(self.tables)
        kind = r.choices(["insert", "update", "delete", "replace", "key", "touch"], [40, 30, 10, 8, 6, 6])[0]
        if table.name == "plain" or kind == "insert":
            self.insert(table)
            return
        picked = self.where(table)
        if picked is None:
            return
        clause, arguments = picked
        free = [c for c in table.columns if not c.key]
        if kind == "delete":
            self.db.execute(f"DELETE FROM {quoted(table.name)} WHERE {clause}", arguments)
        elif kind == "replace" and not table.triggers:
            values = self.row(table)
            for key, value in zip(table.keys, arguments):
                values[key.name] = value
            names = ", ".join(quoted(n) for n in values)
            marks = ", ".join("?" * len(values))
            self.db.execute(f"REPLACE INTO {quoted(table.name)} ({names}) VALUES ({marks})", list(values.values()))
        elif kind == "key" and table.alias is None:
            key = r.choice(table.keys)
            if key.name in table.references:
                fresh = self.existing(*table.references[key.name])
            else:
                fresh = self.value(key)
            self.db.execute(f"UPDATE {quoted(table.name)} SET {quoted(key.name)} = ? WHERE {clause}", [fresh] + arguments)
        elif free:
            column = r.choice(free)
            if kind == "touch":
                self.db.execute(
                    f"UPDATE {quoted(table.name)} SET {quoted(column.name)} = {quoted(column.name)} WHERE {clause}", arguments
                )
            else:
                fresh = self.row(table)[column.name]
                self.db.execute(
                    f"UPDATE {quoted(table.name)} SET {quoted(column.name)} = ? WHERE {clause}", [fresh] + arguments
                )


def make(options):
    db = sqlite3.connect(options.store)
    with open(options.schema, encoding="utf-8") as schema:
        db.executescript(schema.read())
    db.close()
    writer = Writer(options.store, options.seed, options.tag)
    fill(writer, options.rows)


def fill(writer, rows):
    """One transaction: rows in every table, parents first, children mostly of the rows just made."""
    writer.db.execute("BEGIN IMMEDIATE")
    fresh, made = {}, 0
    for table in writer.tables:
        for _ in range(rows):
            try:
                rowid = writer.insert(table, fresh)
            except sqlite3.IntegrityError:
                continue
            made += 1
            if table.alias:
                fresh.setdefault(table.name.lower(), []).append(rowid)
    writer.db.execute("COMMIT")
    print(made)


def churn(writer, operations):
    done, inserted = 0, 0
    while done < operations:
        size = min(writer.random.choice([1, 1, 2, 5, 20]), operations - done)
        before = writer.db.execute("SELECT count(*) FROM plain").fetchone()[0] if has_plain(writer) else 0
        writer.db.execute("BEGIN IMMEDIATE")
        before = writer.db.execute("SELECT count(*) FROM plain").fetchone()[0] if has_plain(writer) else 0
        for _ in range(size):
            try:
                writer.operation()
            except sqlite3.IntegrityError:
                pass
            done += 1
        after = writer.db.execute("SELECT count(*) FROM plain").fetchone()[0] if has_plain(writer) else 0
        try:
            if writer.random.random() < 0.1:
                writer.db.execute("ROLLBACK")
            else:
                writer.db.execute("COMMIT")
                inserted += after - before
        except sqlite3.IntegrityError:
            writer.db.execute("ROLLBACK")
    print(inserted)


def has_plain(writer):
    return any(table.name == "plain" for table in writer.tables)


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("make", "add", "churn"):
        command = commands.add_parser(name)
        if name == "make":
            command.add_argument("schema")
        command.add_argument("store")
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--rows", type=int, default=20)
        command.add_argument("--operations", type=int, default=50)
        command.add_argument("--tag", default="")
    options = parser.parse_args()
    if options.command == "make":
        make(options)
        return
    writer = Writer(options.store, options.seed, options.tag, collides=options.command == "churn")
    if options.command == "add":
        fill(writer, options.rows)
    else:
        churn(writer, options.operations)


if __name__ == "__main__":
    main()
