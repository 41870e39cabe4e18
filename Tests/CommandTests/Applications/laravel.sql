-- [schema]
CREATE TABLE migrations(id integer PRIMARY KEY AUTOINCREMENT NOT NULL, migration varchar NOT NULL, batch integer NOT NULL);
CREATE TABLE users(id integer PRIMARY KEY AUTOINCREMENT NOT NULL, name varchar NOT NULL, email varchar NOT NULL);
CREATE UNIQUE INDEX users_email_unique ON users(email);
CREATE TABLE posts(id integer PRIMARY KEY AUTOINCREMENT NOT NULL, user_id integer NOT NULL, title varchar,
    foreign key(user_id) references users(id));
CREATE TABLE personal_access_tokens(id integer PRIMARY KEY AUTOINCREMENT NOT NULL, tokenable_type varchar NOT NULL,
    tokenable_id integer NOT NULL, name varchar NOT NULL);
CREATE TABLE jobs(id integer PRIMARY KEY AUTOINCREMENT NOT NULL, queue varchar NOT NULL, payload text NOT NULL);
INSERT INTO migrations(migration, batch) VALUES('create_users', 1);
-- [here]
INSERT INTO users(name, email) VALUES('Ann', 'ann@a.org'); INSERT INTO posts(user_id, title) VALUES(1, 'one');
INSERT INTO jobs(queue, payload) VALUES('q', '{}');
INSERT INTO personal_access_tokens(tokenable_type, tokenable_id, name) VALUES('App\Models\User', 1, 'phone');
-- [there]
INSERT INTO users(name, email) VALUES('Bob', 'bob@a.org'); INSERT INTO posts(user_id, title) VALUES(1, 'two');
INSERT INTO personal_access_tokens(tokenable_type, tokenable_id, name) VALUES('App\Models\User', 1, 'tablet');
-- [shows]
SELECT p.title, u.name FROM posts AS p JOIN users AS u ON u.id = p.user_id ORDER BY 1;
SELECT t.name, u.name FROM personal_access_tokens AS t JOIN users AS u ON u.id = t.tokenable_id ORDER BY 1;
-- [expected]
one|Ann
two|Bob
phone|Ann
tablet|Bob
-- [apart]
SELECT count(*) FROM jobs;
