-- [schema]
CREATE TABLE Labels(id TEXT PRIMARY KEY, name TEXT, color TEXT, CONSTRAINT unique_label UNIQUE (name));
CREATE TABLE Projects(id TEXT PRIMARY KEY, name TEXT NOT NULL, color TEXT, backend_type TEXT, inbox_project INTEGER,
    child_order INTEGER, parent_id TEXT);
CREATE TABLE Sections(id TEXT PRIMARY KEY, name TEXT, project_id TEXT, section_order INTEGER,
    FOREIGN KEY (project_id) REFERENCES Projects (id) ON DELETE CASCADE);
CREATE TABLE Items(id TEXT PRIMARY KEY, content TEXT NOT NULL, description TEXT, due TEXT, section_id TEXT,
    project_id TEXT, parent_id TEXT, priority INTEGER, child_order INTEGER, checked INTEGER, labels TEXT);
CREATE TABLE OEvents(id INTEGER PRIMARY KEY AUTOINCREMENT, event_type TEXT,
    event_date DATETIME DEFAULT (datetime('now', 'localtime')), object_id TEXT, object_type TEXT, object_key TEXT);
CREATE TABLE Queue(uuid TEXT PRIMARY KEY, object_id TEXT, query TEXT);
CREATE TABLE CurTempIds(id TEXT PRIMARY KEY, temp_id TEXT, object TEXT);
CREATE TRIGGER after_insert_item AFTER INSERT ON Items BEGIN
    INSERT INTO OEvents(event_type, object_id, object_type, object_key) VALUES('insert', NEW.id, 'item', 'content'); END;
INSERT INTO Projects(id, name, backend_type, inbox_project) VALUES('p1', 'Inbox', 'local', 1);
-- [here]
INSERT INTO Items(id, content, project_id, checked) VALUES('i1', 'milk', 'p1', 0);
INSERT INTO Queue VALUES('q1', 'i1', 'add');
-- [there]
INSERT INTO Items(id, content, project_id, checked) VALUES('i2', 'bread', 'p1', 0);
-- [shows]
SELECT i.content, p.name FROM Items AS i JOIN Projects AS p ON p.id = i.project_id ORDER BY 1;
SELECT object_id FROM OEvents ORDER BY 1;
-- [expected]
bread|Inbox
milk|Inbox
i1
i2
-- [apart]
SELECT count(*) FROM Queue;
