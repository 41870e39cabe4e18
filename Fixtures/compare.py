#!/usr/bin/env python3
"""Compares SQLite stores from outside, knowing nothing of how logsync merges.

    compare.py equal STORE OTHER…        the same rows in every table, integers included, and the same schema: a clone
    compare.py meaning STORE OTHER…      the same rows as people mean them: integer keys may differ, what they point at
                                         may not
    compare.py union MERGED BASE ONE TWO  MERGED means exactly what ONE and TWO added to BASE, both of them

In every mode each store must pass SQLite's integrity, foreign-key and full-text checks. Differences go to stdout, one a
line, and make the exit code 1.

A table whose rows are named by an INTEGER PRIMARY KEY is compared up to isomorphism: a row's colour starts as the hash of
all its columns but that key and the references to such keys, and is then refined, round by round, with the colours of the
rows it points at and, but for `union`, of those that point at it. Two stores mean the same when every table has the same
colours equally often.

    --natural TABLE          the table's integer key means the same everywhere
    --reference CHILD.COLUMN=PARENT   a reference that the schema does not declare
    --dangling               let foreign keys dangle
    --skip TABLE             do not compare this table's rows
    --structure-differs      compare the rows of the columns both stores have, and not the schemas
"""

import argparse
import collections
import gc
import hashlib
import sqlite3
import struct
import sys

ROUNDS = 12
SHOWN = 8


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def encoded(kind, value):
    """A value's type and bits, so that 1, 1.0, '1' and x'31' differ, and 0.0 and -0.0 do too."""
    if value is None:
        return b"n"
    if kind == b"integer":
        return b"i" + str(value).encode()
    if kind == b"real":
        return b"r" + struct.pack(">d", value)
    return kind[:1] + bytes(value)


def readable(row):
    def one(cell):
        text = repr(cell)
        return text if len(text) < 60 else text[:50] + f"… ({len(cell)} bytes)"

    return "(" + ", ".join(f"{name}: {one(cell)}" for name, cell in row) + ")"


class Table:
    def __init__(self, name):
        self.name = name
        self.columns = []
        self.alias = None  # the column that is the rowid, where there is one
        self.references = {}  # column -> parent table
        self.rows = []  # lists of encoded cells
        self.integers = []  # the rowid-alias value of each row, or None
        self.targets = []  # per row: {column: integer or None}


class Store:
    """A consistent copy of a store in memory: the comparison neither waits for writers nor keeps them waiting."""

    def __init__(self, path, options):
        self.path = path
        self.problems = []
        source = sqlite3.connect(f"file:{path.replace('?', '%3f').replace('#', '%23')}?mode=rw", uri=True, timeout=30)
        self.db = sqlite3.connect(":memory:")
        self.wal = source.execute("PRAGMA journal_mode").fetchone()[0]
        source.backup(self.db)
        self.header = {
            name: source.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("user_version", "application_id", "encoding", "page_size", "auto_vacuum")
        }
        source.close()
        self.options = options
        self.read_schema()
        self.read_rows()
        self.check()

    def read_schema(self):
        db = self.db
        self.schema = {}
        for kind, name, table, sql in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
            if not any(n.lower().startswith(("logsync_", "sqlite_")) for n in (name, table)):
                self.schema[(kind, name)] = sql
        self.tables = {}
        for schema, name, kind, *_ in db.execute("PRAGMA table_list"):
            lower = name.lower()
            if schema != "main" or kind != "table" or lower.startswith(("logsync_", "sqlite_")):
                continue
            if lower in self.options.skip:
                continue
            table = Table(name)
            keys = []
            for _, column, declared, _, _, key, hidden in db.execute(f"PRAGMA table_xinfo({quoted(name)})"):
                if hidden != 1:
                    table.columns.append(column)
                if key:
                    keys.append((column, declared.upper()))
            has_key_index = any(row[3] == "pk" for row in db.execute(f"PRAGMA index_list({quoted(name)})"))
            if len(keys) == 1 and keys[0][1] == "INTEGER" and not has_key_index and lower not in self.options.natural:
                table.alias = keys[0][0]
            self.tables[lower] = table
        for lower, table in self.tables.items():
            keys = collections.defaultdict(list)
            for number, _, parent, column, to, *_ in db.execute(f"PRAGMA foreign_key_list({quoted(table.name)})"):
                keys[number].append((parent.lower(), column, to))
            for parts in keys.values():
                if len(parts) > 1:
                    continue
                parent, column, to = parts[0]
                target = self.tables.get(parent)
                if target and target.alias and (to is None or to.lower() == target.alias.lower()):
                    actual = next(c for c in table.columns if c.lower() == column.lower())
                    table.references[actual] = parent
            for child, column, parent in self.options.reference:
                if child == lower:
                    actual = next(c for c in table.columns if c.lower() == column)
                    table.references[actual] = parent

    def read_rows(self):
        self.db.text_factory = bytes
        for table in self.tables.values():
            selected = ", ".join(f"typeof({quoted(c)}), {quoted(c)}" for c in table.columns)
            for raw in self.db.execute(f"SELECT {selected} FROM {quoted(table.name)}"):
                cells = [encoded(raw[2 * i], raw[2 * i + 1]) for i in range(len(table.columns))]
                values = {c: raw[2 * i + 1] for i, c in enumerate(table.columns)}
                table.rows.append(cells)
                table.integers.append(values[table.alias] if table.alias else None)
                table.targets.append({c: values[c] for c in table.references})
        self.db.text_factory = str

    def check(self):
        for (line,) in self.db.execute("PRAGMA integrity_check"):
            if line != "ok":
                self.problems.append(f"integrity_check: {line}")
        if not self.options.dangling:
            for table, rowid, parent, _ in self.db.execute("PRAGMA foreign_key_check"):
                if not table.lower().startswith("logsync_"):
                    self.problems.append(f"foreign_key_check: row {rowid} of {table} points at no row of {parent}")
        for (kind, name), sql in self.schema.items():
            if kind == "table" and sql and sql.upper().startswith("CREATE VIRTUAL TABLE") and "FTS5" in sql.upper():
                try:
                    self.db.execute(f"INSERT INTO {quoted(name)} ({quoted(name)}, rank) VALUES ('integrity-check', 1)")
                except sqlite3.Error as error:
                    self.problems.append(f"full-text index {name}: {error}")
        self.db.rollback()

    def exact(self, columns):
        """Table -> how often each row occurs, every column counted."""
        result = {}
        for lower, table in self.tables.items():
            kept = [i for i, c in enumerate(table.columns) if c.lower() in columns[lower]]
            order = sorted(kept, key=lambda i: table.columns[i].lower())
            counted = collections.Counter()
            for row in table.rows:
                counted[tuple((table.columns[i].lower(), row[i]) for i in order)] += 1
            result[lower] = counted
        return result

    def colours(self, columns, incoming):
        """Table -> how often each colour occurs, and an example of each."""
        tables = self.tables
        index = {n: {k: i for i, k in enumerate(t.integers)} if t.alias else {} for n, t in tables.items()}
        colour, plain = {}, {}
        for name, table in tables.items():
            left_out = set(table.references) | ({table.alias} if table.alias else set())
            kept = [
                i for i, c in enumerate(table.columns) if c not in left_out and c.lower() in columns[name]
            ]
            kept.sort(key=lambda i: table.columns[i].lower())
            plain[name] = [tuple((table.columns[i].lower(), row[i]) for i in kept) for row in table.rows]
            colour[name] = [hashlib.sha256(repr((name, p)).encode()).digest() for p in plain[name]]
        # What each row points at, once for all rounds: a mark of the reference, and which row of which table or a word for none.
        pointers = {}
        for name, table in tables.items():
            references = [
                (c, table.references[c], repr((name, c.lower())).encode())
                for c in sorted(table.references, key=str.lower)
                if c.lower() in columns[name]
            ]
            if references:
                pointers[name] = [
                    [
                        (mark, b"null", None) if targets[c] is None
                        else (mark, parent, index[parent][targets[c]])
                        if targets[c] in index.get(parent, ())
                        else (mark, b"dangling", None)
                        for c, parent, mark in references
                    ]
                    for targets in table.targets
                ]
        sha256 = hashlib.sha256
        for _ in range(ROUNDS):
            pointed = {n: collections.defaultdict(list) for n in tables}
            refined = {n: list(c) for n, c in colour.items()}
            for name, rows in pointers.items():
                fresh = refined[name]
                for i, own in enumerate(colour[name]):
                    parts = [own]
                    for mark, parent, at in rows[i]:
                        if at is None:
                            parts.append(parent)
                        else:
                            parts.append(colour[parent][at])
                            if incoming:
                                pointed[parent][at].append(sha256(mark + own).digest())
                    fresh[i] = sha256(b"|".join(parts)).digest()
            for name, rows in pointed.items():
                fresh = refined[name]
                for i, some in rows.items():
                    fresh[i] = sha256(fresh[i] + b"".join(sorted(some))).digest()
            colour = refined
        counts = {n: collections.Counter(c) for n, c in colour.items()}
        examples = {n: dict(zip(colour[n], plain[n])) for n in tables}
        return counts, examples


def report(lines, where, expected, found, describe):
    """Adds a line for every entry that two counters do not have equally often."""
    for label, some in (("is missing", expected - found), ("should not be there", found - expected)):
        for number, (key, count) in enumerate(some.items()):
            if number == SHOWN:
                lines.append(f"{where}: … and {len(some) - SHOWN} more rows, of which each {label}")
                break
            lines.append(f"{where}: {label}{f' {count} times' if count > 1 else ''}: {describe(key)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["equal", "meaning", "union"])
    parser.add_argument("stores", nargs="+")
    parser.add_argument("--natural", action="append", default=[], type=str.lower)
    parser.add_argument("--skip", action="append", default=[], type=str.lower)
    parser.add_argument("--reference", action="append", default=[])
    parser.add_argument("--dangling", action="store_true")
    parser.add_argument("--structure-differs", action="store_true")
    options = parser.parse_args()
    split = []
    for text in options.reference:
        child, parent = text.lower().split("=")
        table, column = child.split(".")
        split.append((table, column, parent))
    options.reference = split

    stores = [Store(path, options) for path in options.stores]
    lines = [f"{store.path}: {problem}" for store in stores for problem in store.problems]
    first = stores[0]

    names = set(first.tables)
    for store in stores[1:]:
        names &= set(store.tables)
    shared = {
        name: set.intersection(*({c.lower() for c in store.tables[name].columns} for store in stores)) for name in names
    }
    for store in stores:
        if options.structure_differs:
            store.tables = {n: t for n, t in store.tables.items() if n in names}
        else:
            for name in set(store.tables) - names:
                lines.append(f"{store.path}: table {name} is not in every store")
            store.tables = {n: t for n, t in store.tables.items() if n in names}
            for key in sorted(set(first.schema) | set(store.schema)):
                if first.schema.get(key) != store.schema.get(key):
                    lines.append(
                        f"{store.path}: {key[0]} {key[1]} differs: {store.schema.get(key)!r}, not {first.schema.get(key)!r}"
                    )

    if options.mode == "equal":
        expected = first.exact(shared)
        for store in stores[1:]:
            for name, value in first.header.items():
                if store.header[name] != value:
                    lines.append(f"{store.path}: {name} is {store.header[name]}, not {value}")
            found = store.exact(shared)
            for name in sorted(names):
                report(lines, f"{store.path}: {name}", expected[name], found[name], readable)
    elif options.mode == "meaning":
        # What points at a row counts only once everything else agrees: the report is shorter so.
        for incoming in (False, True):
            if incoming and lines:
                break
            expected, examples = first.colours(shared, incoming)
            for store in stores[1:]:
                found, others = store.colours(shared, incoming)
                for name in sorted(names):
                    known = {**examples[name], **others[name]}
                    report(lines, f"{store.path}: {name}", expected[name], found[name], lambda key: readable(known[key]))
    else:
        if len(stores) != 4:
            parser.error("union takes four stores")
        (merged, shown), (base, _), (one, shown_one), (two, shown_two) = (s.colours(shared, False) for s in stores)
        for name in sorted(names):
            known = {**shown[name], **shown_one[name], **shown_two[name]}
            expected = one[name] + two[name]
            expected.subtract(base[name])
            report(lines, f"{first.path}: {name}", +expected, merged[name], lambda key: readable(known[key]))

    if lines:
        print("\n".join(lines))
        sys.exit(1)
    print(f"{len(names)} tables, {sum(len(t.rows) for t in first.tables.values())} rows")


if __name__ == "__main__":
    # Hardly anything here refers to itself, and to look for what does takes a sixth of the time.
    gc.disable()
    main()
