"""What migrations do to a schema. Every kind has a table of rows that are told by `uid`, whatever their key is, and hold
a `note`; what programs write to them before and after, and what they show afterwards."""

from forms import Rebuild, Table

ID = "INTEGER PRIMARY KEY AUTOINCREMENT"
PARENTS = {"p": Table({"id": ID, "uid": "TEXT NOT NULL UNIQUE"})}


class Kind:
    """`write` and `edit` are pairs: under the old schema, and under the new one. `pieces` is the migration, `alter` the
    same by ALTER TABLE alone, `django` and `alembic` as those tools are told. `wrong` finds rows that are not as they have
    to be, `clash` rows that can be settled only by hand."""

    def __init__(
        self, name, old, pieces, query, *, alter=None, django=None, alembic=None, write=None, edit=None, remove=None,
        wrong=None, clash=None, orphans=False, main=("t", "t"), options=(), each="",
        whens=None
    ):
        self.name, self.old, self.pieces, self.query = name, old, pieces, query
        self.alter, self.django, self.alembic = alter, django, alembic
        self.write = write or (["INSERT INTO t(uid,note) VALUES('{uid}','{note}')"] * 2)
        self.edit = edit or (["UPDATE t SET note='{note}' WHERE uid='{uid}'"] * 2)
        self.remove = remove or (["DELETE FROM t WHERE uid='{uid}'"] * 2)
        self.wrong, self.clash, self.main, self.options = wrong, clash, main, options
        # What is there of each peer from the beginning.
        self.each = each
        # Where it can be tried; everywhere where nothing is said.
        self.whens = whens
        # Whether the migration makes children of rows that another peer deletes: they are parked.
        self.orphans = orphans


def rebuilt(name, old, new, *arguments, values=None, rest="", before=(), after=(), others=None, **rest_of):
    pieces = [*before, Rebuild("t", old, new, values, rest), *after]
    return Kind(name, {**(others or {}), "t": old}, pieces, *arguments, **rest_of)


SHOWN = "SELECT uid, note FROM t"
T = {"id": ID, "uid": "TEXT", "note": "TEXT"}
D = ('migrations.CreateModel("t", [("id", models.AutoField(primary_key=True)), '
     '("uid", models.TextField(null=True)), ("note", models.TextField(null=True)){}], options={{"db_table": "t"}})')
PARENT = ('migrations.CreateModel("p", [("id", models.AutoField(primary_key=True)), '
          '("uid", models.TextField(unique=True))], options={"db_table": "p"})')
LINK = "SELECT t.uid, t.note, p.uid FROM t LEFT JOIN p ON p.id = t.p_id"
OWN_PARENT = "INSERT INTO p(uid) VALUES('p-{peer}');"
LINKED = "INSERT INTO t(uid,note,p_id) VALUES('{uid}','{note}',(SELECT id FROM p WHERE uid='p-{peer}'))"
MISLINKED = (
    "SELECT t.uid, p.uid FROM t LEFT JOIN p ON p.id = t.p_id "
    "WHERE p.uid IS NOT 'p-' || substr(replace(replace(t.uid, 'base-', ''), 'gone-', ''), 1, 1)")

KINDS = [
    rebuilt(
        "add a column", Table(T), Table({**T, "extra": "TEXT DEFAULT 'e'"}), SHOWN,
        alter=["ALTER TABLE t ADD COLUMN extra TEXT DEFAULT 'e';"],
        write=["INSERT INTO t(uid,note) VALUES('{uid}','{note}')",
               "INSERT INTO t(uid,note,extra) VALUES('{uid}','{note}','of {uid}')"],
        wrong="SELECT uid, extra FROM t WHERE extra IS NOT CASE WHEN uid LIKE '%new%' THEN 'of '||uid ELSE 'e' END",
        django=(D.format(""), 'migrations.AddField("t", "extra", models.TextField(null=True, default="e"))'),
        alembic='with op.batch_alter_table("t", recreate="always") as b: '
                'b.add_column(sa.Column("extra", sa.Text, server_default="e"))'),
    rebuilt(
        "add and fill", Table(T), Table({**T, "size": "INT"}), SHOWN,
        values={"size": "length(uid)"},
        alter=["ALTER TABLE t ADD COLUMN size INT;", "UPDATE t SET size = length(uid);"],
        write=["INSERT INTO t(uid,note) VALUES('{uid}','{note}')",
               "INSERT INTO t(uid,note,size) VALUES('{uid}','{note}',length('{uid}'))"],
        # A row that only the old version has written has no size on a peer that had migrated before.
        wrong="SELECT uid, size FROM t WHERE uid LIKE '%new%' AND size IS NOT length(uid)"),
    rebuilt(
        "drop a column", Table({**T, "extra": "TEXT DEFAULT 'e'"}), Table(T), SHOWN,
        alter=["ALTER TABLE t DROP COLUMN extra;"],
        django=(D.format(', ("extra", models.TextField(null=True))'), 'migrations.RemoveField("t", "extra")'),
        alembic='with op.batch_alter_table("t") as b: b.drop_column("extra")'),
    rebuilt(
        "rename a column", Table(T), Table({"id": ID, "uid": "TEXT", "remark": "TEXT"}), "SELECT uid, remark FROM t",
        values={"remark": "note"}, alter=["ALTER TABLE t RENAME COLUMN note TO remark;"],
        write=["INSERT INTO t(uid,note) VALUES('{uid}','{note}')", "INSERT INTO t(uid,remark) VALUES('{uid}','{note}')"],
        edit=["UPDATE t SET note='{note}' WHERE uid='{uid}'", "UPDATE t SET remark='{note}' WHERE uid='{uid}'"],
        django=(D.format(""), 'migrations.RenameField("t", "note", "remark")'),
        alembic='with op.batch_alter_table("t") as b: b.alter_column("note", new_column_name="remark")'),
    rebuilt(
        "rename in the middle", Table({"id": ID, "note": "TEXT", "uid": "TEXT"}),
        Table({"id": ID, "remark": "TEXT", "uid": "TEXT"}), "SELECT uid, remark FROM t",
        values={"remark": "note"}, alter=["ALTER TABLE t RENAME COLUMN note TO remark;"],
        write=["INSERT INTO t(uid,note) VALUES('{uid}','{note}')", "INSERT INTO t(uid,remark) VALUES('{uid}','{note}')"],
        edit=["UPDATE t SET note='{note}' WHERE uid='{uid}'", "UPDATE t SET remark='{note}' WHERE uid='{uid}'"]),
    rebuilt(
        "columns in another order", Table({**T, "a": "TEXT", "b": "TEXT"}),
        Table({"b": "TEXT", "note": "TEXT", "a": "TEXT", "id": ID, "uid": "TEXT"}), SHOWN,
        write=["INSERT INTO t(uid,note,a,b) VALUES('{uid}','{note}','a','b')"] * 2,
        wrong="SELECT uid, a, b FROM t WHERE a IS NOT 'a' OR b IS NOT 'b'"),
    rebuilt(
        "type of a column", Table({**T, "n": "INTEGER"}), Table({**T, "n": "TEXT"}), SHOWN,
        write=["INSERT INTO t(uid,note,n) VALUES('{uid}','{note}',7)",
               "INSERT INTO t(uid,note,n) VALUES('{uid}','{note}','seven')"],
        wrong="SELECT uid, n FROM t WHERE n IS NOT CASE WHEN uid LIKE '%new%' THEN 'seven' ELSE '7' END",
        django=(D.format(', ("n", models.IntegerField(null=True))'),
                'migrations.AlterField("t", "n", models.TextField(null=True))'),
        alembic='with op.batch_alter_table("t") as b: b.alter_column("n", type_=sa.Text)'),
    rebuilt(
        "a column's text to a number", Table({**T, "n": "TEXT"}), Table({**T, "n": "INTEGER"}), SHOWN,
        write=["INSERT INTO t(uid,note,n) VALUES('{uid}','{note}','007')",
               "INSERT INTO t(uid,note,n) VALUES('{uid}','{note}',7)"],
        wrong="SELECT uid, n FROM t WHERE n IS NOT 7"),
    rebuilt(
        "natural key to id", Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"}),
        Table({"id": ID, "uid": "TEXT NOT NULL UNIQUE", "note": "TEXT"}), SHOWN),
    rebuilt(
        "natural key to id, not unique", Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"}),
        Table({"id": ID, "uid": "TEXT NOT NULL", "note": "TEXT"}), SHOWN),
    rebuilt(
        "id to natural key", Table({"id": ID, "uid": "TEXT NOT NULL", "note": "TEXT"}),
        Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"}), SHOWN),
    rebuilt(
        "id to natural key without rowid", Table({"id": ID, "uid": "TEXT NOT NULL UNIQUE", "note": "TEXT"}),
        Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"}, tail="WITHOUT ROWID"), SHOWN),
    rebuilt(
        "id to text id", Table(T), Table({"id": "TEXT PRIMARY KEY NOT NULL", "uid": "TEXT", "note": "TEXT"}), SHOWN,
        values={"id": "'u' || uid"},
        write=["INSERT INTO t(uid,note) VALUES('{uid}','{note}')",
               "INSERT INTO t(id,uid,note) VALUES('u{uid}','{uid}','{note}')"]),
    rebuilt(
        "single key to composite", Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"}),
        Table({"uid": "TEXT NOT NULL", "lang": "TEXT NOT NULL DEFAULT 'en'", "note": "TEXT"}, "PRIMARY KEY(uid, lang)"),
        SHOWN),
    rebuilt(
        "single key to composite, of what was there",
        Table({"uid": "TEXT PRIMARY KEY NOT NULL", "lang": "TEXT NOT NULL DEFAULT 'en'", "note": "TEXT"}),
        Table({"uid": "TEXT NOT NULL", "lang": "TEXT NOT NULL DEFAULT 'en'", "note": "TEXT"}, "PRIMARY KEY(lang, uid)",
              tail="WITHOUT ROWID"),
        SHOWN),
    rebuilt(
        "composite key to single",
        Table({"uid": "TEXT NOT NULL", "lang": "TEXT NOT NULL DEFAULT 'en'", "note": "TEXT"}, "PRIMARY KEY(uid, lang)"),
        Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"}), SHOWN),
    rebuilt(
        "order of the key",
        Table({"uid": "TEXT NOT NULL", "lang": "TEXT NOT NULL DEFAULT 'en'", "note": "TEXT"}, "PRIMARY KEY(uid, lang)"),
        Table({"uid": "TEXT NOT NULL", "lang": "TEXT NOT NULL DEFAULT 'en'", "note": "TEXT"}, "PRIMARY KEY(lang, uid)"),
        SHOWN),
    rebuilt(
        "collation of a key", Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"}),
        Table({"uid": "TEXT PRIMARY KEY NOT NULL COLLATE NOCASE", "note": "TEXT"}), SHOWN),
    rebuilt(
        "collation of a key, back", Table({"uid": "TEXT PRIMARY KEY NOT NULL COLLATE NOCASE", "note": "TEXT"}),
        Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"}), SHOWN),
    rebuilt(
        "collation of a column", Table(T), Table({**T, "uid": "TEXT COLLATE NOCASE"}), SHOWN),
    rebuilt(
        "unique", Table(T), Table({**T, "uid": "TEXT UNIQUE"}), SHOWN,
        django=(D.format(""), 'migrations.AlterField("t", "uid", models.TextField(null=True, unique=True))'),
        alembic='with op.batch_alter_table("t") as b: b.create_unique_constraint("u", ["uid"])',
        alter=["CREATE UNIQUE INDEX t_uid ON t(uid);"]),
    rebuilt(
        "unique that is broken meanwhile", Table({**T, "code": "TEXT"}), Table({**T, "code": "TEXT UNIQUE"}), SHOWN,
        alter=["CREATE UNIQUE INDEX t_code ON t(code);"],
        # Rows that two peers write at the same time have the same.
        write=["INSERT INTO t(uid,note,code) VALUES('{uid}','{note}',substr('{uid}', 2))"] * 2,
        clash="UPDATE t SET code = uid", whens=("both", "steps")),
    rebuilt(
        "unique no more", Table({**T, "uid": "TEXT UNIQUE"}), Table(T), SHOWN,
        django=(D.format("").replace('"uid", models.TextField(null=True', '"uid", models.TextField(null=True, unique=True'),
                'migrations.AlterField("t", "uid", models.TextField(null=True))')),
    rebuilt(
        "foreign key declared", Table({**T, "p_id": "INTEGER"}), Table({**T, "p_id": "INTEGER REFERENCES p(id)"}), LINK,
        others=PARENTS, each=OWN_PARENT, write=[LINKED] * 2, wrong=MISLINKED,
        options=["--no-reference", "t.p_id"],
        django=(PARENT + ", " + D.format(', ("p_id", models.IntegerField(null=True))'),
                'migrations.RenameField("t", "p_id", "p"), migrations.AlterField("t", "p", '
                'models.ForeignKey("app.p", models.CASCADE, null=True, db_index=False))'),
        alembic='with op.batch_alter_table("t") as b: b.create_foreign_key("f", "p", ["p_id"], ["id"])'),
    rebuilt(
        "foreign key dropped", Table({**T, "p_id": "INTEGER REFERENCES p(id)"}), Table({**T, "p_id": "INTEGER"}), LINK,
        others=PARENTS, each=OWN_PARENT, write=[LINKED] * 2, wrong=MISLINKED),
    rebuilt(
        "foreign key re-pointed", Table({**T, "p_id": "INTEGER REFERENCES p(id)"}),
        Table({**T, "p_id": "INTEGER REFERENCES q(id)"}),
        "SELECT t.uid, t.note, q.uid FROM t LEFT JOIN q ON q.id = t.p_id",
        values={"p_id": "(SELECT q.id FROM q JOIN p ON p.uid = q.uid WHERE p.id = p_id)"},
        others={**PARENTS, "q": Table({"id": ID, "uid": "TEXT NOT NULL UNIQUE"})},
        each=OWN_PARENT + "INSERT INTO q(uid) VALUES('x-{peer}'),('p-{peer}');",
        write=[LINKED, LINKED.replace("FROM p", "FROM q")], wrong=MISLINKED.replace(" p ", " q ").replace("p.", "q.")),
    rebuilt(
        "foreign key by another column", Table({**T, "p_id": "INTEGER REFERENCES p(id)"}),
        Table({**T, "p_uid": "TEXT REFERENCES p(uid)"}), "SELECT t.uid, t.note, p_uid FROM t",
        values={"p_uid": "(SELECT p.uid FROM p WHERE p.id = p_id)"}, others=PARENTS, each=OWN_PARENT,
        write=[LINKED, "INSERT INTO t(uid,note,p_uid) VALUES('{uid}','{note}','p-{peer}')"],
        wrong="SELECT uid, p_uid FROM t WHERE uid LIKE '%new%' AND p_uid IS NOT 'p-' || substr(uid, 1, 1)"),
    rebuilt(
        "ON DELETE of a foreign key", Table({**T, "p_id": "INTEGER REFERENCES p(id)"}),
        Table({**T, "p_id": "INTEGER REFERENCES p(id) ON DELETE CASCADE ON UPDATE CASCADE"}), LINK,
        others=PARENTS, each=OWN_PARENT, write=[LINKED] * 2, wrong=MISLINKED),
    rebuilt(
        "the parent's key to a name", Table({**T, "p_id": "INTEGER REFERENCES p(id)"}),
        Table({**T, "p_id": "TEXT REFERENCES p(uid)"}), "SELECT t.uid, t.note, p_id FROM t",
        values={"p_id": "(SELECT p.uid FROM p WHERE p.id = p_id)"}, others=PARENTS, each=OWN_PARENT,
        after=[Rebuild("p", PARENTS["p"], Table({"uid": "TEXT PRIMARY KEY NOT NULL"}))],
        write=[LINKED, "INSERT INTO t(uid,note,p_id) VALUES('{uid}','{note}','p-{peer}')"],
        wrong="SELECT uid, p_id FROM t WHERE p_id IS NOT 'p-' || "
              "substr(replace(replace(uid, 'base-', ''), 'gone-', ''), 1, 1)"),
    rebuilt(
        "the parent is made anew", Table({**T, "p_id": "INTEGER REFERENCES p(id) ON DELETE CASCADE"}),
        Table({**T, "p_id": "INTEGER REFERENCES p(id) ON DELETE CASCADE", "x": "INT"}), LINK, others=PARENTS,
        each=OWN_PARENT, after=[Rebuild("p", PARENTS["p"], Table({**PARENTS["p"].columns, "y": "TEXT"}))],
        write=[LINKED] * 2, wrong=MISLINKED),
    rebuilt(
        "NOT NULL and a default", Table({**T, "n": "INT"}), Table({**T, "n": "INT NOT NULL DEFAULT 3"}), SHOWN,
        values={"n": "coalesce(n, 3)"},
        write=["INSERT INTO t(uid,note,n) VALUES('{uid}','{note}',5)"] * 2, wrong="SELECT uid, n FROM t WHERE n IS NOT 5"),
    rebuilt("strict", Table(T), Table(T, tail="STRICT"), SHOWN),
    rebuilt(
        "a generated column", Table(T), Table({**T, "g": "TEXT GENERATED ALWAYS AS (uid || '!') STORED"}), SHOWN,
        wrong="SELECT uid, g FROM t WHERE g IS NOT uid || '!'"),
    Kind(
        "split a table", {"t": Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT", "street": "TEXT"})}, [
            "CREATE TABLE address(uid TEXT PRIMARY KEY NOT NULL REFERENCES t(uid) ON DELETE CASCADE, street TEXT);",
            "INSERT INTO address SELECT uid, street FROM t;",
            Rebuild("t", None, Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"}))],
        "SELECT uid, note FROM t",
        write=["INSERT INTO t(uid,note,street) VALUES('{uid}','{note}','s {uid}')",
               "INSERT INTO t(uid,note) VALUES('{uid}','{note}'); INSERT INTO address VALUES('{uid}','s {uid}')"],
        wrong="SELECT * FROM address WHERE street IS NOT 's ' || uid", orphans=True),
    Kind(
        "split a table with ids", {"t": Table({**T, "street": "TEXT"})}, [
            "CREATE TABLE address(t_id INTEGER PRIMARY KEY REFERENCES t(id) ON DELETE CASCADE, street TEXT);",
            "INSERT INTO address SELECT id, street FROM t;", Rebuild("t", None, Table(T))],
        "SELECT uid, note FROM t",
        write=["INSERT INTO t(uid,note,street) VALUES('{uid}','{note}','s {uid}')",
               "INSERT INTO t(uid,note) VALUES('{uid}','{note}'); "
               "INSERT INTO address SELECT id, 's {uid}' FROM t WHERE uid='{uid}'"],
        wrong="SELECT * FROM address LEFT JOIN t ON id = t_id WHERE street IS NOT 's ' || uid", orphans=True),
    Kind(
        "merge two tables", {
            "t": Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"}),
            "u": Table({"uid": "TEXT PRIMARY KEY NOT NULL", "more": "TEXT"})}, [
            Rebuild("t", None, Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT", "more": "TEXT"}),
                    {"more": "(SELECT more FROM u WHERE u.uid = t.uid)"}),
            "DROP TABLE u;"],
        "SELECT uid, note FROM t",
        write=["INSERT INTO t(uid,note) VALUES('{uid}','{note}'); INSERT INTO u VALUES('{uid}','m {uid}')",
               "INSERT INTO t(uid,note,more) VALUES('{uid}','{note}','m {uid}')"],
        wrong="SELECT uid, more FROM t WHERE uid LIKE '%new%' AND more IS NOT 'm ' || uid"),
    Kind(
        "merge rows of two tables", {
            "t": Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"}),
            "u": Table({"uid": "TEXT PRIMARY KEY NOT NULL", "note": "TEXT"})}, [
            "INSERT OR IGNORE INTO t(uid, note) SELECT 'u-' || uid, note FROM u;", "DROP TABLE u;"],
        "SELECT uid, note FROM t WHERE uid NOT LIKE 'u-%'",
        write=["INSERT INTO t(uid,note) VALUES('{uid}','{note}'); INSERT INTO u VALUES('{uid}','m {uid}')",
               "INSERT INTO t(uid,note) VALUES('{uid}','{note}')"]),
    Kind(
        "rename a table", {"t": Table(T)}, ["ALTER TABLE t RENAME TO s;"], "SELECT uid, note FROM s", main=("t", "s"),
        write=["INSERT INTO t(uid,note) VALUES('{uid}','{note}')", "INSERT INTO s(uid,note) VALUES('{uid}','{note}')"],
        edit=["UPDATE t SET note='{note}' WHERE uid='{uid}'", "UPDATE s SET note='{note}' WHERE uid='{uid}'"],
        remove=["DELETE FROM t WHERE uid='{uid}'", "DELETE FROM s WHERE uid='{uid}'"],
        django=(D.format(""), 'migrations.AlterModelTable("t", "s")'), alembic='op.rename_table("t", "s")'),
    Kind(
        "rename a table, reuse its name", {"t": Table(T)}, [
            "ALTER TABLE t RENAME TO s;", f"CREATE TABLE t (id {ID}, uid TEXT, note TEXT);"],
        "SELECT uid, note FROM s UNION ALL SELECT 'T ' || uid, note FROM t", main=("t", "s"),
        write=["INSERT INTO t(uid,note) VALUES('{uid}','{note}')",
               "INSERT INTO s(uid,note) VALUES('{uid}','{note}'); INSERT INTO t(uid,note) VALUES('{uid}','{note}')"],
        edit=["UPDATE t SET note='{note}' WHERE uid='{uid}'", "UPDATE s SET note='{note}' WHERE uid='{uid}'"],
        remove=["DELETE FROM t WHERE uid='{uid}'", "DELETE FROM s WHERE uid='{uid}'"]),
    Kind(
        "rename a parent", {**PARENTS, "t": Table({**T, "p_id": "INTEGER REFERENCES p(id)"})},
        ["ALTER TABLE p RENAME TO o;"], LINK.replace(" p ", " o ").replace("p.", "o."), each=OWN_PARENT,
        write=[LINKED, LINKED.replace("FROM p", "FROM o")], wrong=MISLINKED.replace(" p ", " o ").replace("p.", "o.")),
    rebuilt(
        "rename and reuse of a column", Table({**T, "v": "TEXT"}), Table({**T, "v_old": "TEXT", "v": "TEXT"}), SHOWN,
        values={"v_old": "v", "v": "'n' || uid"},
        alter=["ALTER TABLE t RENAME COLUMN v TO v_old;", "ALTER TABLE t ADD COLUMN v TEXT;",
               "UPDATE t SET v = 'n' || uid;"],
        write=["INSERT INTO t(uid,note,v) VALUES('{uid}','{note}','o{uid}')",
               "INSERT INTO t(uid,note,v_old,v) VALUES('{uid}','{note}','o{uid}','n{uid}')"],
        wrong="SELECT uid, v_old, v FROM t WHERE v_old IS NOT 'o' || uid OR uid LIKE '%new%' AND v IS NOT 'n' || uid"),
    Kind(
        "drop a table, make it anew", {"t": Table(T), "d": Table({"id": ID, "w": "TEXT"})}, [
            "DROP TABLE d;", "CREATE TABLE d(k TEXT PRIMARY KEY NOT NULL, w TEXT, x INT);"],
        SHOWN, each="INSERT INTO d(w) VALUES('w-{peer}');"),
]
