-- [schema]
CREATE TABLE authors(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, sort TEXT COLLATE NOCASE,
    link TEXT NOT NULL DEFAULT '', UNIQUE(name));
CREATE TABLE books(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL DEFAULT 'Unknown' COLLATE NOCASE,
    sort TEXT COLLATE NOCASE, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, series_index REAL NOT NULL DEFAULT 1.0,
    author_sort TEXT COLLATE NOCASE, path TEXT NOT NULL DEFAULT '', flags INTEGER NOT NULL DEFAULT 1, uuid TEXT,
    has_cover BOOL DEFAULT 0, last_modified TIMESTAMP NOT NULL DEFAULT '2000-01-01');
CREATE TABLE books_authors_link(id INTEGER PRIMARY KEY, book INTEGER NOT NULL, author INTEGER NOT NULL,
    UNIQUE(book, author));
CREATE TABLE books_languages_link(id INTEGER PRIMARY KEY, book INTEGER NOT NULL, lang_code INTEGER NOT NULL,
    item_order INTEGER NOT NULL DEFAULT 0, UNIQUE(book, lang_code));
CREATE TABLE books_publishers_link(id INTEGER PRIMARY KEY, book INTEGER NOT NULL, publisher INTEGER NOT NULL,
    UNIQUE(book));
CREATE TABLE books_ratings_link(id INTEGER PRIMARY KEY, book INTEGER NOT NULL, rating INTEGER NOT NULL,
    UNIQUE(book, rating));
CREATE TABLE books_series_link(id INTEGER PRIMARY KEY, book INTEGER NOT NULL, series INTEGER NOT NULL, UNIQUE(book));
CREATE TABLE books_tags_link(id INTEGER PRIMARY KEY, book INTEGER NOT NULL, tag INTEGER NOT NULL, UNIQUE(book, tag));
CREATE TABLE comments(id INTEGER PRIMARY KEY, book INTEGER NON NULL, text TEXT NON NULL COLLATE NOCASE, UNIQUE(book));
CREATE TABLE conversion_options(id INTEGER PRIMARY KEY, format TEXT NOT NULL COLLATE NOCASE, book INTEGER,
    data BLOB NOT NULL, UNIQUE(format, book));
CREATE TABLE custom_columns(id INTEGER PRIMARY KEY AUTOINCREMENT, label TEXT NOT NULL, name TEXT NOT NULL,
    datatype TEXT NOT NULL, mark_for_delete BOOL DEFAULT 0 NOT NULL, normalized BOOL NOT NULL, UNIQUE(label));
CREATE TABLE data(id INTEGER PRIMARY KEY, book INTEGER NON NULL, format TEXT NON NULL COLLATE NOCASE,
    uncompressed_size INTEGER NON NULL, name TEXT NON NULL, UNIQUE(book, format));
CREATE TABLE identifiers(id INTEGER PRIMARY KEY, book INTEGER NON NULL, type TEXT NON NULL DEFAULT 'isbn' COLLATE NOCASE,
    val TEXT NON NULL COLLATE NOCASE, UNIQUE(book, type));
CREATE TABLE languages(id INTEGER PRIMARY KEY, lang_code TEXT NON NULL COLLATE NOCASE, UNIQUE(lang_code));
CREATE TABLE library_id(id INTEGER PRIMARY KEY, uuid TEXT NOT NULL, UNIQUE(uuid));
CREATE TABLE metadata_dirtied(id INTEGER PRIMARY KEY, book INTEGER NOT NULL, UNIQUE(book));
CREATE TABLE preferences(id INTEGER PRIMARY KEY, key TEXT NON NULL, val TEXT NON NULL, UNIQUE(key));
CREATE TABLE publishers(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, sort TEXT, UNIQUE(name));
CREATE TABLE ratings(id INTEGER PRIMARY KEY, rating INTEGER CHECK(rating > -1 AND rating < 11), UNIQUE(rating));
CREATE TABLE series(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, sort TEXT, UNIQUE(name));
CREATE TABLE tags(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, UNIQUE(name));
CREATE VIEW tag_browser_authors AS SELECT id, name,
    (SELECT COUNT(id) FROM books_authors_link WHERE author = authors.id) AS count FROM authors;
CREATE TRIGGER books_insert_trg AFTER INSERT ON books BEGIN
    UPDATE books SET sort = title_sort(NEW.title), uuid = uuid4() WHERE id = NEW.id; END;
CREATE TRIGGER fkc_data_insert BEFORE INSERT ON data BEGIN
    SELECT CASE WHEN (SELECT id FROM books WHERE id = NEW.book) IS NULL THEN RAISE(ABORT, 'no such book') END; END;
CREATE TABLE custom_column_1(id INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL COLLATE NOCASE, UNIQUE(value));
CREATE TABLE books_custom_column_1_link(id INTEGER PRIMARY KEY AUTOINCREMENT, book INTEGER NOT NULL,
    value INTEGER NOT NULL, UNIQUE(book, value));
CREATE VIEW meta AS SELECT id, title, (SELECT sortconcat(l.id, a.name) FROM books_authors_link AS l
    JOIN authors AS a ON a.id = l.author WHERE l.book = books.id) AS authors FROM books;
INSERT INTO library_id VALUES(1, 'u-1');
INSERT INTO custom_columns VALUES(1, 'mood', 'Mood', 'text', 0, 1);
INSERT INTO books(id, title, author_sort, path) VALUES(1, 'Dune', 'Herbert', 'Herbert/Dune');
INSERT INTO authors VALUES(1, 'Herbert', 'Herbert', '');
INSERT INTO books_authors_link VALUES(1, 1, 1);
INSERT INTO data VALUES(1, 1, 'EPUB', 100, 'Dune');
INSERT INTO comments VALUES(1, 1, 'about Dune');
-- [here]
INSERT INTO books(id, title, author_sort, path) VALUES(2, 'Emma', 'Austen', 'Austen/Emma');
INSERT INTO authors VALUES(2, 'Austen', 'Austen', '');
INSERT INTO books_authors_link VALUES(2, 2, 2);
INSERT INTO tags VALUES(1, 'Classic');
INSERT INTO books_tags_link VALUES(1, 2, 1);
INSERT INTO data VALUES(2, 2, 'EPUB', 200, 'Emma');
INSERT INTO comments VALUES(2, 2, 'about Emma');
INSERT INTO custom_column_1 VALUES(1, 'calm');
INSERT INTO books_custom_column_1_link VALUES(1, 2, 1);
INSERT INTO metadata_dirtied VALUES(1, 2);
INSERT INTO custom_columns VALUES(2, 'only here', 'Only here', 'int', 0, 0);
-- [there]
INSERT INTO books(id, title, author_sort, path) VALUES(2, 'Solaris', 'Lem', 'Lem/Solaris');
INSERT INTO authors VALUES(2, 'Lem', 'Lem', '');
INSERT INTO books_authors_link VALUES(2, 2, 2);
INSERT INTO tags VALUES(1, 'classic');
INSERT INTO books_tags_link VALUES(1, 2, 1);
INSERT INTO data VALUES(2, 2, 'EPUB', 300, 'Solaris');
INSERT INTO comments VALUES(2, 2, 'about Solaris');
INSERT INTO custom_column_1 VALUES(1, 'strange');
INSERT INTO books_custom_column_1_link VALUES(1, 2, 1);
-- [shows]
SELECT m.title, m.authors, b.sort, length(b.uuid), a.name, d.name, c.text,
    (SELECT lower(t.name) FROM books_tags_link AS l JOIN tags AS t ON t.id = l.tag WHERE l.book = b.id), (SELECT v.value FROM books_custom_column_1_link AS l JOIN custom_column_1 AS v
        ON v.id = l.value WHERE l.book = b.id)
    FROM books AS b JOIN meta AS m ON m.id = b.id
    JOIN books_authors_link AS l ON l.book = b.id JOIN authors AS a ON a.id = l.author
    JOIN data AS d ON d.book = b.id JOIN comments AS c ON c.book = b.id ORDER BY 1;
SELECT count(*) FROM tags;
-- [expected]
Dune|Herbert|dune|36|Herbert|Dune|about Dune||
Emma|Austen|emma|36|Austen|Emma|about Emma|classic|calm
Solaris|Lem|solaris|36|Lem|Solaris|about Solaris|classic|strange
1
-- [apart]
SELECT count(*) FROM metadata_dirtied;
SELECT count(*) FROM custom_columns;
