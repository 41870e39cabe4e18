-- [schema]
CREATE TABLE user(id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, name VARCHAR(64), email VARCHAR(120), role SMALLINT,
    kindle_mail VARCHAR(120), sidebar_view INTEGER, denied_tags VARCHAR, UNIQUE(name), UNIQUE(email));
CREATE TABLE user_session(id INTEGER NOT NULL, user_id INTEGER, session_key VARCHAR, PRIMARY KEY(id),
    FOREIGN KEY(user_id) REFERENCES user(id));
CREATE TABLE thumbnail(id INTEGER NOT NULL, entity_id INTEGER, uuid VARCHAR, type SMALLINT, PRIMARY KEY(id), UNIQUE(uuid));
CREATE TABLE shelf(id INTEGER NOT NULL, name VARCHAR, is_public INTEGER, user_id INTEGER, PRIMARY KEY(id),
    FOREIGN KEY(user_id) REFERENCES user(id));
CREATE TABLE book_shelf_link(id INTEGER NOT NULL, book_id INTEGER, "order" INTEGER, shelf INTEGER, PRIMARY KEY(id),
    FOREIGN KEY(shelf) REFERENCES shelf(id));
CREATE TABLE book_read_link(id INTEGER NOT NULL, book_id INTEGER, user_id INTEGER, read_status INTEGER NOT NULL,
    PRIMARY KEY(id), FOREIGN KEY(user_id) REFERENCES user(id));
CREATE TABLE archived_book(id INTEGER NOT NULL, user_id INTEGER, book_id INTEGER, is_archived BOOLEAN, PRIMARY KEY(id),
    FOREIGN KEY(user_id) REFERENCES user(id));
CREATE TABLE bookmark(id INTEGER NOT NULL, user_id INTEGER, book_id INTEGER, bookmark_key VARCHAR, PRIMARY KEY(id),
    FOREIGN KEY(user_id) REFERENCES user(id));
INSERT INTO user VALUES(1, 'admin', 'a@x', 1, '', 1, ''); INSERT INTO user_session VALUES(1, 1, 'k');
INSERT INTO shelf VALUES(1, 'All', 1, 1); INSERT INTO archived_book VALUES(1, 1, 3, 1);
-- [here]
INSERT INTO user VALUES(2, 'ann', 'ann@x', 0, '', 1, ''); INSERT INTO shelf VALUES(2, 'Ann''s', 0, 2);
INSERT INTO book_shelf_link VALUES(1, 7, 1, 2), (2, 7, 1, 1); INSERT INTO book_read_link VALUES(1, 7, 2, 1);
INSERT INTO user_session VALUES(2, 2, 'here');
-- [there]
INSERT INTO user VALUES(2, 'bob', 'bob@x', 0, '', 1, ''), (3, 'ann', 'ann@x', 0, '', 1, '');
INSERT INTO shelf VALUES(2, 'Bob''s', 0, 2), (3, 'Of Ann', 0, 3);
INSERT INTO book_shelf_link VALUES(1, 9, 1, 2), (2, 9, 2, 1); INSERT INTO book_read_link VALUES(1, 7, 2, 1), (2, 8, 3, 2);
INSERT INTO bookmark VALUES(1, 2, 9, 'p. 3');
-- [shows]
SELECT s.name, u.name, min(book_id), max(book_id) FROM shelf AS s JOIN user AS u ON u.id = s.user_id
    LEFT JOIN book_shelf_link AS l ON l.shelf = s.id GROUP BY s.id ORDER BY 1;
SELECT name, book_id, read_status FROM book_read_link JOIN user ON user.id = user_id ORDER BY 1, 2;
SELECT name, book_id, bookmark_key FROM bookmark JOIN user ON user.id = user_id;
SELECT name, book_id FROM archived_book JOIN user ON user.id = user_id;
-- [expected]
All|admin|7|9
Ann's|ann|7|7
Bob's|bob|9|9
Of Ann|ann||
ann|7|1
ann|8|2
bob|7|1
bob|9|p. 3
admin|3
