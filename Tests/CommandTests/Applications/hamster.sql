-- [schema]
CREATE TABLE activities(id integer primary key, name varchar2(500), work integer, activity_order integer, deleted integer,
    category_id integer, search_name varchar2);
CREATE TABLE version(version integer);
CREATE TABLE categories(id integer primary key, name varchar2(500), color_code varchar2(50), category_order integer,
    search_name varchar2);
CREATE TABLE tags(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name TEXT NOT NULL, autocomplete BOOL DEFAULT true);
CREATE TABLE fact_tags(fact_id integer, tag_id integer);
CREATE TABLE "facts"(id integer primary key autoincrement, activity_id integer, start_time timestamp, end_time timestamp,
    description varchar2);
CREATE VIRTUAL TABLE fact_index USING fts3(id, name, category, description, tag);
INSERT INTO version VALUES(9); INSERT INTO categories(name) VALUES('work');
-- [here]
INSERT INTO categories(name) VALUES('home'); INSERT INTO activities(name, category_id) VALUES('reading', 2), ('coding', 1);
INSERT INTO facts(activity_id, start_time, description) VALUES(1, 1, 'a book'), (2, 2, 'here');
INSERT INTO tags(name) VALUES('quiet'); INSERT INTO fact_tags VALUES(1, 1), (2, 1);
UPDATE version SET version = 10;
-- [there]
INSERT INTO activities(name, category_id) VALUES('meeting', 1), ('unsorted', -1);
INSERT INTO facts(activity_id, start_time, description) VALUES(1, 3, 'there'), (2, 4, '');
INSERT INTO tags(name) VALUES('loud'); INSERT INTO fact_tags VALUES(1, 1);
-- [shows]
SELECT f.start_time, a.name, coalesce(c.name, a.category_id), f.description, (SELECT t.name FROM fact_tags AS x JOIN tags AS t
    ON t.id = x.tag_id WHERE x.fact_id = f.id) FROM facts AS f JOIN activities AS a ON a.id = f.activity_id
    LEFT JOIN categories AS c ON c.id = a.category_id ORDER BY 1;
-- [expected]
1|reading|home|a book|quiet
2|coding|work|here|quiet
3|meeting|work|there|loud
4|unsorted|-1||
-- [apart]
SELECT version FROM version;
