-- [schema]
CREATE TABLE schema_migrations(version varchar NOT NULL PRIMARY KEY);
CREATE TABLE ar_internal_metadata(key varchar NOT NULL PRIMARY KEY, value varchar, created_at datetime(6) NOT NULL);
CREATE TABLE authors(id integer PRIMARY KEY AUTOINCREMENT NOT NULL, name varchar);
CREATE TABLE books(id integer PRIMARY KEY AUTOINCREMENT NOT NULL, title varchar, author_id integer NOT NULL,
    CONSTRAINT fk_rails_1 FOREIGN KEY (author_id) REFERENCES authors (id));
INSERT INTO schema_migrations VALUES('20260101');
INSERT INTO ar_internal_metadata VALUES('environment', 'production', '2026');
-- [here]
INSERT INTO authors(name) VALUES('Lem'); INSERT INTO books(title, author_id) VALUES('Solaris', 1);
INSERT INTO schema_migrations VALUES('20260202');
-- [there]
INSERT INTO authors(name) VALUES('Austen'); INSERT INTO books(title, author_id) VALUES('Emma', 1);
-- [shows]
SELECT b.title, a.name FROM books AS b JOIN authors AS a ON a.id = b.author_id ORDER BY 1;
-- [expected]
Emma|Austen
Solaris|Lem
-- [apart]
SELECT count(*) FROM schema_migrations;
