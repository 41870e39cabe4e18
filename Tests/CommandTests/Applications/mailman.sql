-- [schema]
CREATE TABLE alembic_version(version_num VARCHAR(32) NOT NULL, PRIMARY KEY(version_num));
CREATE TABLE preferences(id INTEGER NOT NULL, acknowledge_posts BOOLEAN, PRIMARY KEY(id));
CREATE TABLE user(id INTEGER NOT NULL, display_name VARCHAR, _preferred_address_id INTEGER, preferences_id INTEGER,
    PRIMARY KEY(id), FOREIGN KEY(preferences_id) REFERENCES preferences(id),
    CONSTRAINT _preferred_address FOREIGN KEY(_preferred_address_id) REFERENCES address(id));
CREATE TABLE address(id INTEGER NOT NULL, email VARCHAR, user_id INTEGER, preferences_id INTEGER, PRIMARY KEY(id),
    FOREIGN KEY(user_id) REFERENCES user(id), FOREIGN KEY(preferences_id) REFERENCES preferences(id));
CREATE UNIQUE INDEX ix_address_email ON address(email);
CREATE TABLE mailinglist(id INTEGER NOT NULL, list_name VARCHAR, mail_host VARCHAR, list_id VARCHAR,
    next_request_id INTEGER, autorespond_owner INTEGER, post_id INTEGER, PRIMARY KEY(id));
CREATE UNIQUE INDEX ix_mailinglist_list_id ON mailinglist(list_id);
CREATE TABLE member(id INTEGER NOT NULL, _member_id CHAR(32), list_id VARCHAR, address_id INTEGER, preferences_id INTEGER,
    user_id INTEGER, PRIMARY KEY(id), FOREIGN KEY(address_id) REFERENCES address(id),
    FOREIGN KEY(preferences_id) REFERENCES preferences(id), FOREIGN KEY(user_id) REFERENCES user(id));
CREATE TABLE onelastdigest(id INTEGER NOT NULL, mailing_list_id INTEGER, address_id INTEGER, PRIMARY KEY(id),
    FOREIGN KEY(mailing_list_id) REFERENCES mailinglist(id), FOREIGN KEY(address_id) REFERENCES address(id));
CREATE TABLE file_cache(id INTEGER NOT NULL, "key" VARCHAR NOT NULL, PRIMARY KEY(id));
INSERT INTO alembic_version VALUES('a'); INSERT INTO preferences VALUES(1, 0), (2, 1);
INSERT INTO user VALUES(1, 'Bob', 1, 1); INSERT INTO address VALUES(1, 'bob@x', 1, 2);
INSERT INTO mailinglist VALUES(1, 'all', 'x', 'all.x', 1, 0, 5); INSERT INTO file_cache VALUES(1, 'k');
INSERT INTO member VALUES(1, 'm1', 'all.x', 1, NULL, NULL);
-- [here]
INSERT INTO preferences VALUES(3, 0); INSERT INTO user VALUES(2, 'Ann', NULL, 3); INSERT INTO address VALUES(2, 'ann@x', 2, 3);
INSERT INTO member VALUES(2, 'm2', 'all.x', 2, NULL, NULL); UPDATE mailinglist SET post_id = 6;
INSERT INTO mailinglist VALUES(2, 'here', 'x', 'here.x', 1, 0, 1); INSERT INTO onelastdigest VALUES(1, 2, 2);
UPDATE alembic_version SET version_num = 'b';
-- [there]
INSERT INTO preferences VALUES(3, 1); INSERT INTO user VALUES(2, 'Ann', NULL, 3); INSERT INTO address VALUES(2, 'ann@x', 2, 3);
INSERT INTO mailinglist VALUES(2, 'there', 'x', 'there.x', 1, 0, 1); UPDATE mailinglist SET post_id = 8 WHERE id = 1;
INSERT INTO member VALUES(2, 'm3', 'there.x', 2, NULL, NULL), (3, 'm4', 'there.x', 1, NULL, NULL);
-- [apart]
SELECT version_num FROM alembic_version;
-- [shows]
SELECT list_id, email, acknowledge_posts FROM member JOIN address AS a ON a.id = address_id
    LEFT JOIN preferences AS p ON p.id = a.preferences_id ORDER BY 1, 2;
SELECT list_id, post_id FROM mailinglist ORDER BY 1;
SELECT list_name, email FROM onelastdigest JOIN mailinglist AS l ON l.id = mailing_list_id
    JOIN address AS a ON a.id = address_id;
-- [expected]
all.x|ann@x|0
all.x|bob@x|1
there.x|ann@x|0
there.x|bob@x|1
all.x|8
here.x|1
there.x|1
here|ann@x
