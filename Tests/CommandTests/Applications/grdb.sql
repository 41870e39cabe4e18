-- [schema]
CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY);
CREATE TABLE player(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
    teamId INTEGER REFERENCES team(id) ON DELETE SET NULL);
CREATE TABLE team(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL);
INSERT INTO grdb_migrations VALUES('v1');
-- [here]
INSERT INTO team(name) VALUES('red'); INSERT INTO player(name, teamId) VALUES('Ann', 1);
INSERT INTO grdb_migrations VALUES('v2');
-- [there]
INSERT INTO team(name) VALUES('blue'); INSERT INTO player(name, teamId) VALUES('Bob', 1);
-- [shows]
SELECT p.name, t.name FROM player AS p JOIN team AS t ON t.id = p.teamId ORDER BY 1;
-- [expected]
Ann|red
Bob|blue
-- [apart]
SELECT count(*) FROM grdb_migrations;
