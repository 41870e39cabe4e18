"""How tools write migrations: the SQL that each of them runs where a table has to be made anew."""

import os
import subprocess
import textwrap

# The interpreter that Debian's Python packages are for.
PYTHON = "/usr/bin/python3"


class Table:
    """What stands in a CREATE TABLE: columns by name, and what follows them."""

    def __init__(self, columns, *constraints, tail="", indexes=()):
        self.columns, self.constraints, self.tail, self.indexes = columns, constraints, tail, indexes

    def create(self, name, temporary=False):
        parts = [f"{column} {declaration}".strip() for column, declaration in self.columns.items()]
        kind = "TEMPORARY TABLE" if temporary else "TABLE"
        return f'CREATE {kind} "{name}" ({", ".join([*parts, *self.constraints])}) {self.tail}'.strip() + ";"

    def stored(self):
        """The columns that can be written."""
        return [column for column, declaration in self.columns.items() if "GENERATED" not in declaration]

    def with_column(self, name, declaration):
        columns = dict(self.columns)
        columns[name] = declaration
        return Table(columns, *self.constraints, tail=self.tail, indexes=self.indexes)


class Rebuild:
    """A table is made anew as `new`; `values` says what its columns are where they are not of the same name."""

    def __init__(self, name, old, new, values=None, rest=""):
        self.name, self.old, self.new, self.values, self.rest = name, old, new, values or {}, rest

    def pairs(self, old):
        stored = set(old.stored())
        pairs = [(column, self.values.get(column, column)) for column in self.new.stored()]
        return [(column, value) for column, value in pairs if column in self.values or column in stored]

    def fill(self, target, source, old):
        pairs = self.pairs(old)
        columns, values = (", ".join(part) for part in zip(*pairs))
        return f'INSERT INTO "{target}" ({columns}) SELECT {values} FROM "{source}" AS "{self.name}" {self.rest};'


class Form:
    """One way to run a migration: `alter` says whether plain ALTER TABLE is used where it can be."""

    name, tool, before, after, in_transaction = None, None, (), (), True
    temporary = "{}_new"

    def rebuild(self, piece, old):
        made = self.temporary.format(piece.name)
        return [
            piece.new.create(made), piece.fill(made, piece.name, old), f'DROP TABLE "{piece.name}";',
            f'ALTER TABLE "{made}" RENAME TO "{piece.name}";', *piece.new.indexes]

    def statements(self, pieces, tables):
        """The statements of a migration; `tables` are those that are there, and takes up what becomes of them."""
        body = []
        for piece in pieces:
            if isinstance(piece, Rebuild):
                body += self.rebuild(piece, tables[piece.name])
                tables[piece.name] = piece.new
            else:
                body.append(piece)
        begin, end = (["BEGIN IMMEDIATE;"], ["COMMIT;"]) if self.in_transaction else ([], [])
        return [*self.before, *begin, *body, *end, *self.after]


class TwelveSteps(Form):
    """https://sqlite.org/lang_altertable.html#otheralter"""

    name, temporary = "twelve", "new_{}"
    before, after = ("PRAGMA foreign_keys=OFF;",), ("PRAGMA foreign_key_check;", "PRAGMA foreign_keys=ON;")


class Bare(TwelveSteps):
    """The same by a program that knows no transactions."""

    name, in_transaction = "bare", False


class Aside(Form):
    """The table is set aside under another name, and a new one takes its own: Django below 2.0, and many written by hand."""

    name = "aside"
    before = ("PRAGMA foreign_keys=OFF;", "PRAGMA legacy_alter_table=ON;")
    after = ("PRAGMA legacy_alter_table=OFF;", "PRAGMA foreign_keys=ON;")

    def rebuild(self, piece, old):
        away = piece.name + "__old"
        return [
            f'ALTER TABLE "{piece.name}" RENAME TO "{away}";', piece.new.create(piece.name),
            piece.fill(piece.name, away, old), f'DROP TABLE "{away}";', *piece.new.indexes]


class Rails(Form):
    """Active Record's SQLite adapter: `alter_table` moves the table away into a temporary one, and back."""

    name = "rails"
    before = ("PRAGMA defer_foreign_keys = ON;", "PRAGMA foreign_keys = OFF;")
    after = ("PRAGMA defer_foreign_keys = 0;", "PRAGMA foreign_keys = 1;")

    def rebuild(self, piece, old):
        away = "a" + piece.name
        columns = ", ".join(f'"{column}"' for column in old.stored())
        return [
            old.create(away, temporary=True),
            f'INSERT INTO "{away}" ({columns}) SELECT {columns} FROM "{piece.name}";', f'DROP TABLE "{piece.name}";',
            piece.new.create(piece.name), piece.fill(piece.name, away, old), f'DROP TABLE "{away}";',
            *piece.new.indexes]


class GRDB(Form):
    """GRDB's DatabaseMigrator, with its deferred check of foreign keys."""

    name, temporary = "grdb", "new_{}"
    before = ("PRAGMA foreign_keys = OFF;",)
    after = ("PRAGMA foreign_keys = ON;",)

    def statements(self, pieces, tables):
        statements = super().statements(pieces, tables)
        noted = [
            "CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);",
            "INSERT INTO grdb_migrations (identifier) SELECT 'v' || (count(*) + 1) FROM grdb_migrations;",
            "PRAGMA foreign_key_check;"]
        end = statements.index("COMMIT;")
        return statements[:end] + noted + statements[end:]


class Room(Form):
    """Room's automatic migrations, run by Android's SQLiteOpenHelper, which turns foreign keys on afterwards."""

    name, temporary = "room", "_new_{}"
    before, after = ("PRAGMA foreign_keys = OFF;",), ("PRAGMA foreign_keys = ON;",)

    def rebuild(self, piece, old):
        return super().rebuild(piece, old) + [f"PRAGMA foreign_key_check(`{piece.name}`);"]

    def statements(self, pieces, tables):
        statements = super().statements(pieces, tables)
        noted = [
            "CREATE TABLE IF NOT EXISTS room_master_table (id INTEGER PRIMARY KEY,identity_hash TEXT);",
            "INSERT OR REPLACE INTO room_master_table (id,identity_hash) VALUES(42, hex(randomblob(16)));"]
        end = statements.index("COMMIT;")
        return statements[:end] + noted + statements[end:]


class Alter(Form):
    """Plain ALTER TABLE, for what it can do."""

    name = "alter"


class Tool(Form):
    """A real tool, run by Debian's Python. Runs `migration.NAME` of a kind, and where that is none has nothing to run."""

    module, program = None, None

    def missing(self):
        ended = subprocess.run([PYTHON, "-c", f"import {self.module}"], capture_output=True)
        return None if ended.returncode == 0 else self.module

    def run(self, database, operations, environment):
        ended = subprocess.run(
            [PYTHON, "-c", textwrap.dedent(self.program), database, *operations], env=environment, text=True,
            capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
        if ended.returncode != 0:
            raise RuntimeError(f"{self.name} ended with {ended.returncode}: {ended.stderr.strip()[-300:]}")


class Django(Tool):
    """Operations as a migration file has them. All before the last are what the database's state is made of."""

    name = tool = module = "django"
    program = """\
        import sys
        import django
        from django.conf import settings
        database, *former, last = sys.argv[1:]
        settings.configure(
            USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.AutoField", INSTALLED_APPS=[],
            DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": database}})
        django.setup()
        from django.db import connection, migrations, models
        from django.db.migrations.recorder import MigrationRecorder
        from django.db.migrations.state import ProjectState
        def migration(text):
            made = migrations.Migration("m", "app")
            made.operations = eval("[" + text + "]")
            return made
        state = ProjectState()
        for text in former:
            state = migration(text).mutate_state(state)
        with connection.schema_editor(atomic=True) as editor:
            migration(last).apply(state, editor)
        MigrationRecorder(connection).record_applied("app", f"m{len(former)}")
        """


class Alembic(Tool):
    """Alembic's batch mode. Runs the last of what it is given."""

    name = tool = module = "alembic"
    program = """\
        import sys
        import sqlalchemy as sa
        from alembic.operations import Operations
        from alembic.migration import MigrationContext
        engine = sa.create_engine("sqlite:///" + sys.argv[1])
        with engine.connect() as connection:
            with connection.begin():
                context = MigrationContext.configure(connection)
                op = Operations(context)
                exec(sys.argv[-1])
        """


FORMS = [Alter(), TwelveSteps(), Bare(), Aside(), Rails(), GRDB(), Room(), Django(), Alembic()]


def environment(state):
    return {**os.environ, "XDG_STATE_HOME": state, "SWIFT_BACKTRACE": "enable=no", "NO_COLOR": "1"}
