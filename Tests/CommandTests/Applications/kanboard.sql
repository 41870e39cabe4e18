-- [schema]
CREATE TABLE users(id INTEGER PRIMARY KEY, username TEXT NOT NULL, password TEXT, name TEXT, gitlab_id INTEGER, is_active INTEGER DEFAULT 1);
CREATE UNIQUE INDEX users_username_idx ON users(username);
CREATE TABLE projects(id INTEGER PRIMARY KEY, name TEXT NOCASE NOT NULL, is_active INTEGER DEFAULT 1, owner_id INTEGER DEFAULT 0);
CREATE TABLE columns(id INTEGER PRIMARY KEY, title TEXT NOT NULL, position INTEGER, project_id INTEGER NOT NULL,
    task_limit INTEGER DEFAULT '0', FOREIGN KEY(project_id) REFERENCES projects(id) ON DELETE CASCADE, UNIQUE(title, project_id));
CREATE TABLE swimlanes(id INTEGER PRIMARY KEY, name TEXT NOT NULL, position INTEGER DEFAULT 1, project_id INTEGER NOT NULL,
    FOREIGN KEY(project_id) REFERENCES projects(id) ON DELETE CASCADE, UNIQUE(name, project_id));
CREATE TABLE project_has_categories(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE NOT NULL, project_id INTEGER NOT NULL,
    UNIQUE(project_id, name), FOREIGN KEY(project_id) REFERENCES projects(id) ON DELETE CASCADE);
CREATE TABLE "tasks"(id INTEGER PRIMARY KEY, title TEXT NOCASE NOT NULL, project_id INTEGER REFERENCES projects(id) ON DELETE CASCADE,
    column_id INTEGER REFERENCES columns(id) ON DELETE CASCADE, owner_id INTEGER DEFAULT '0', position INTEGER,
    category_id INTEGER DEFAULT 0, creator_id INTEGER DEFAULT '0', swimlane_id INTEGER REFERENCES swimlanes(id) ON DELETE CASCADE,
    recurrence_status INTEGER DEFAULT 0 NOT NULL, recurrence_parent INTEGER, recurrence_child INTEGER);
CREATE TABLE comments(id INTEGER PRIMARY KEY, task_id INTEGER NOT NULL, user_id INTEGER DEFAULT 0, comment TEXT NOT NULL,
    FOREIGN KEY(task_id) REFERENCES tasks(id) ON DELETE CASCADE);
CREATE TABLE tags(id INTEGER PRIMARY KEY, name TEXT NOT NULL, project_id INTEGER NOT NULL, UNIQUE(project_id, name));
CREATE TABLE task_has_tags(task_id INTEGER NOT NULL, tag_id INTEGER NOT NULL, FOREIGN KEY(task_id) REFERENCES tasks(id) ON DELETE CASCADE,
    FOREIGN KEY(tag_id) REFERENCES tags(id) ON DELETE CASCADE, UNIQUE(tag_id, task_id));
CREATE TABLE links(id INTEGER PRIMARY KEY, label TEXT NOT NULL, opposite_id INTEGER DEFAULT 0, UNIQUE(label));
CREATE TABLE task_has_links(id INTEGER PRIMARY KEY, link_id INTEGER NOT NULL, task_id INTEGER NOT NULL, opposite_task_id INTEGER NOT NULL,
    FOREIGN KEY(link_id) REFERENCES links(id) ON DELETE CASCADE, FOREIGN KEY(task_id) REFERENCES tasks(id) ON DELETE CASCADE,
    FOREIGN KEY(opposite_task_id) REFERENCES tasks(id) ON DELETE CASCADE);
CREATE UNIQUE INDEX task_has_links_unique ON task_has_links(link_id, task_id, opposite_task_id);
CREATE TABLE project_has_users(project_id INTEGER NOT NULL, user_id INTEGER NOT NULL,
    FOREIGN KEY(project_id) REFERENCES projects(id) ON DELETE CASCADE, FOREIGN KEY(user_id) REFERENCES users(id) ON DELETE CASCADE,
    UNIQUE(project_id, user_id));
CREATE TABLE settings(option TEXT PRIMARY KEY, value TEXT DEFAULT '', changed_by INTEGER DEFAULT 0 NOT NULL, changed_on INTEGER DEFAULT 0 NOT NULL);
CREATE TABLE plugin_schema_versions(plugin TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL DEFAULT 0);
CREATE TABLE sessions(id TEXT PRIMARY KEY, expire_at INTEGER NOT NULL, data TEXT DEFAULT '');
PRAGMA user_version = 126;
INSERT INTO users(username, password, name) VALUES('admin', 'x', 'Ann'), ('bob', 'x', 'Bob');
INSERT INTO links(label, opposite_id) VALUES('relates to', 0), ('blocks', 3), ('is blocked by', 2);
INSERT INTO projects(name, owner_id) VALUES('House', 1); INSERT INTO project_has_users VALUES(1, 1);
INSERT INTO columns(title, position, project_id) VALUES('Backlog', 1, 1), ('Done', 2, 1);
INSERT INTO swimlanes(name, project_id) VALUES('Default swimlane', 1);
INSERT INTO tasks(title, project_id, column_id, owner_id, creator_id, swimlane_id) VALUES('paint', 1, 1, 2, 1, 1);
INSERT INTO settings VALUES('application_language', 'en', 1, 5);
-- [here]
INSERT INTO columns(title, position, project_id) VALUES('Ready', 3, 1); INSERT INTO project_has_categories(name, project_id) VALUES('inside', 1);
INSERT INTO tasks(title, project_id, column_id, owner_id, creator_id, swimlane_id, category_id, recurrence_parent)
    VALUES('sweep', 1, 3, 1, 1, 1, 1, 1);
UPDATE tasks SET recurrence_child = 2 WHERE id = 1;
INSERT INTO comments(task_id, user_id, comment) VALUES(2, 2, 'on sweep by Bob'); INSERT INTO tags(name, project_id) VALUES('urgent', 1);
INSERT INTO task_has_tags VALUES(2, 1); INSERT INTO task_has_links(link_id, task_id, opposite_task_id) VALUES(2, 1, 2), (3, 2, 1);
UPDATE columns SET title = 'To do' WHERE id = 1; INSERT INTO sessions VALUES('s', 9, '');
-- [there]
INSERT INTO users(username, password, name) VALUES('cid', 'x', 'Cid'); INSERT INTO project_has_users VALUES(1, 3);
INSERT INTO columns(title, position, project_id) VALUES('Ready', 3, 1); INSERT INTO project_has_categories(name, project_id) VALUES('outside', 1);
INSERT INTO tasks(title, project_id, column_id, owner_id, creator_id, swimlane_id, category_id) VALUES('mow', 1, 3, 3, 2, 1, 1),
    ('dig', 1, 1, 3, 2, 1, 1);
INSERT INTO comments(task_id, user_id, comment) VALUES(2, 3, 'on mow by Cid'); INSERT INTO tags(name, project_id) VALUES('urgent', 1);
INSERT INTO task_has_tags VALUES(2, 1);
UPDATE settings SET value = 'de', changed_by = 3 WHERE option = 'application_language';
-- [shows]
SELECT t.title, columns.title, swimlanes.name, coalesce(o.name, ''), c.name, coalesce(k.name, ''), coalesce(p.title, ''), coalesce(n.title, '')
    FROM tasks AS t JOIN columns ON columns.id = t.column_id JOIN swimlanes ON swimlanes.id = t.swimlane_id JOIN users AS c ON c.id = t.creator_id
    LEFT JOIN users AS o ON o.id = t.owner_id LEFT JOIN project_has_categories AS k ON k.id = t.category_id
    LEFT JOIN tasks AS p ON p.id = t.recurrence_parent LEFT JOIN tasks AS n ON n.id = t.recurrence_child ORDER BY 1;
SELECT title FROM columns ORDER BY 1;
SELECT comment, title, name FROM comments JOIN tasks ON tasks.id = task_id JOIN users ON users.id = user_id ORDER BY 1;
SELECT title, tags.name FROM task_has_tags JOIN tasks ON tasks.id = task_id JOIN tags ON tags.id = tag_id ORDER BY 1;
SELECT a.title, label, b.title FROM task_has_links JOIN links ON links.id = link_id JOIN tasks AS a ON a.id = task_id
    JOIN tasks AS b ON b.id = opposite_task_id ORDER BY 1;
SELECT a.label, b.label FROM links AS a LEFT JOIN links AS b ON b.id = a.opposite_id ORDER BY 1;
SELECT option, value, name FROM settings JOIN users ON users.id = changed_by; SELECT name FROM project_has_users JOIN users ON users.id = user_id ORDER BY 1;
-- [expected]
dig|To do|Default swimlane|Cid|Bob|outside||
mow|Ready|Default swimlane|Cid|Bob|outside||
paint|To do|Default swimlane|Bob|Ann|||sweep
sweep|Ready|Default swimlane|Ann|Ann|inside|paint|
Done
Ready
To do
on mow by Cid|mow|Cid
on sweep by Bob|sweep|Bob
mow|urgent
sweep|urgent
paint|blocks|sweep
sweep|is blocked by|paint
blocks|is blocked by
is blocked by|blocks
relates to|
application_language|de|Cid
Ann
Cid
-- [apart]
SELECT count(*) FROM sessions;
