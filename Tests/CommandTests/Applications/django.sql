-- [schema]
CREATE TABLE django_migrations(id integer NOT NULL PRIMARY KEY AUTOINCREMENT, app varchar(255) NOT NULL,
    name varchar(255) NOT NULL, applied datetime NOT NULL);
CREATE TABLE django_content_type(id integer NOT NULL PRIMARY KEY AUTOINCREMENT, app_label varchar(100) NOT NULL,
    model varchar(100) NOT NULL);
CREATE UNIQUE INDEX django_content_type_uniq ON django_content_type(app_label, model);
CREATE TABLE auth_permission(id integer NOT NULL PRIMARY KEY AUTOINCREMENT, content_type_id integer NOT NULL
    REFERENCES django_content_type(id) DEFERRABLE INITIALLY DEFERRED, codename varchar(100) NOT NULL, name varchar(255));
CREATE UNIQUE INDEX auth_permission_uniq ON auth_permission(content_type_id, codename);
CREATE TABLE auth_user(id integer NOT NULL PRIMARY KEY AUTOINCREMENT, username varchar(150) NOT NULL UNIQUE);
CREATE TABLE auth_group(id integer NOT NULL PRIMARY KEY AUTOINCREMENT, name varchar(150) NOT NULL UNIQUE);
CREATE TABLE auth_user_groups(id integer NOT NULL PRIMARY KEY AUTOINCREMENT,
    user_id integer NOT NULL REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED,
    group_id integer NOT NULL REFERENCES auth_group(id) DEFERRABLE INITIALLY DEFERRED);
CREATE UNIQUE INDEX auth_user_groups_uniq ON auth_user_groups(user_id, group_id);
CREATE TABLE django_session(session_key varchar(40) NOT NULL PRIMARY KEY, session_data text NOT NULL,
    expire_date datetime NOT NULL);
CREATE TABLE django_admin_log(id integer NOT NULL PRIMARY KEY AUTOINCREMENT, object_id text NULL,
    object_repr varchar(200) NOT NULL, content_type_id integer NULL REFERENCES django_content_type(id) DEFERRABLE INITIALLY DEFERRED,
    user_id integer NOT NULL REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO django_migrations(app, name, applied) VALUES('auth', '0001', '2026');
INSERT INTO django_content_type(app_label, model) VALUES('auth', 'user');
INSERT INTO auth_permission(content_type_id, codename, name) VALUES(1, 'add_user', 'Can add user');
INSERT INTO auth_user(username) VALUES('ann');
INSERT INTO auth_group(name) VALUES('editors');
INSERT INTO django_admin_log(object_id, object_repr, content_type_id, user_id) VALUES('1', 'ann', 1, 1);
-- [here]
INSERT INTO auth_user(username) VALUES('bob');
INSERT INTO auth_group(name) VALUES('readers');
INSERT INTO auth_user_groups(user_id, group_id) VALUES(2, 1), (2, 2), (1, 2);
INSERT INTO django_migrations(app, name, applied) VALUES('auth', '0002', '2026');
INSERT INTO django_admin_log(object_id, object_repr, content_type_id, user_id) VALUES('2', 'bob', 1, 2);
-- [there]
INSERT INTO auth_user(username) VALUES('cem');
INSERT INTO auth_group(name) VALUES('readers');
INSERT INTO auth_user_groups(user_id, group_id) VALUES(2, 2), (1, 2);
INSERT INTO django_admin_log(object_id, object_repr, content_type_id, user_id) VALUES('2', 'cem', 1, 2);
-- [shows]
SELECT u.username, g.name FROM auth_user_groups AS l JOIN auth_user AS u ON u.id = l.user_id
    JOIN auth_group AS g ON g.id = l.group_id ORDER BY 1, 2;
SELECT object_repr, username, model FROM django_admin_log JOIN auth_user AS u ON u.id = user_id
    JOIN django_content_type AS t ON t.id = content_type_id ORDER BY 1, 2;
-- [expected]
ann|readers
bob|editors
bob|readers
cem|readers
ann|ann|user
bob|bob|user
cem|cem|user
-- [apart]
SELECT count(*) FROM django_migrations;
