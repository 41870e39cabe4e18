-- [schema]
CREATE TABLE wp_users(ID integer PRIMARY KEY AUTOINCREMENT NOT NULL, user_login text NOT NULL DEFAULT '' COLLATE NOCASE,
    user_email text NOT NULL DEFAULT '' COLLATE NOCASE, display_name text NOT NULL DEFAULT '' COLLATE NOCASE);
CREATE TABLE wp_terms(term_id integer PRIMARY KEY AUTOINCREMENT NOT NULL, name text NOT NULL DEFAULT '' COLLATE NOCASE);
CREATE TABLE wp_term_taxonomy(term_taxonomy_id integer PRIMARY KEY AUTOINCREMENT NOT NULL,
    term_id integer NOT NULL DEFAULT 0, taxonomy text NOT NULL DEFAULT '' COLLATE NOCASE,
    parent integer NOT NULL DEFAULT 0, count integer NOT NULL DEFAULT 0);
CREATE TABLE wp_term_relationships(object_id integer NOT NULL DEFAULT 0, term_taxonomy_id integer NOT NULL DEFAULT 0,
    term_order integer NOT NULL DEFAULT 0, PRIMARY KEY(object_id, term_taxonomy_id));
CREATE TABLE wp_comments(comment_ID integer PRIMARY KEY AUTOINCREMENT NOT NULL,
    comment_post_ID integer NOT NULL DEFAULT '0', comment_content text NOT NULL COLLATE NOCASE,
    comment_parent integer NOT NULL DEFAULT '0', user_id integer NOT NULL DEFAULT '0');
CREATE TABLE wp_options(option_id integer PRIMARY KEY AUTOINCREMENT NOT NULL,
    option_name text NOT NULL DEFAULT '' COLLATE NOCASE, option_value text NOT NULL COLLATE NOCASE,
    autoload text NOT NULL DEFAULT 'yes' COLLATE NOCASE);
CREATE TABLE wp_postmeta(meta_id integer PRIMARY KEY AUTOINCREMENT NOT NULL, post_id integer NOT NULL DEFAULT '0',
    meta_key text DEFAULT NULL COLLATE NOCASE, meta_value text COLLATE NOCASE);
CREATE TABLE wp_posts(ID integer PRIMARY KEY AUTOINCREMENT NOT NULL, post_author integer NOT NULL DEFAULT '0',
    post_title text NOT NULL COLLATE NOCASE, post_parent integer NOT NULL DEFAULT '0',
    guid text NOT NULL DEFAULT '' COLLATE NOCASE, post_type text NOT NULL DEFAULT 'post' COLLATE NOCASE,
    comment_count integer NOT NULL DEFAULT '0');
CREATE UNIQUE INDEX wp_options__option_name ON wp_options(option_name);
CREATE UNIQUE INDEX wp_term_taxonomy__term_id_taxonomy ON wp_term_taxonomy(term_id, taxonomy);
INSERT INTO wp_users VALUES(1, 'ann', 'a@x', 'Ann'); INSERT INTO wp_options VALUES(1, 'siteurl', 'http://x', 'yes');
INSERT INTO wp_posts VALUES(1, 1, 'Hello', 0, 'g1', 'post', 1); INSERT INTO wp_terms VALUES(1, 'News');
INSERT INTO wp_term_taxonomy VALUES(1, 1, 'category', 0, 1); INSERT INTO wp_term_relationships VALUES(1, 1, 0);
INSERT INTO wp_comments VALUES(1, 1, 'first', 0, 0);
-- [here]
INSERT INTO wp_users VALUES(2, 'bob', 'b@x', 'Bob'); INSERT INTO wp_posts VALUES(2, 2, 'Here', 1, 'g2', 'page', 0);
INSERT INTO wp_postmeta VALUES(1, 2, 'colour', 'red'); INSERT INTO wp_comments VALUES(2, 2, 'of here', 1, 2);
INSERT INTO wp_options VALUES(2, 'theme', 'here', 'yes');
INSERT INTO wp_comments VALUES(3, 1, 'on hello here', 0, 2); INSERT INTO wp_term_relationships VALUES(2, 1, 0);
UPDATE wp_posts SET comment_count = (SELECT count(*) FROM wp_comments WHERE comment_post_ID = ID);
UPDATE wp_term_taxonomy SET count = 2 WHERE term_taxonomy_id = 1;
-- [there]
INSERT INTO wp_terms VALUES(2, 'Local'); INSERT INTO wp_term_taxonomy VALUES(2, 2, 'category', 1, 1);
INSERT INTO wp_posts VALUES(2, 1, 'There', 0, 'g3', 'post', 0); INSERT INTO wp_term_relationships VALUES(2, 2, 0);
INSERT INTO wp_comments VALUES(2, 2, 'of there', 0, 1), (3, 2, 'answer', 2, 1), (4, 1, 'on hello there', 0, 1);
INSERT INTO wp_term_relationships VALUES(2, 1, 0);
UPDATE wp_posts SET comment_count = (SELECT count(*) FROM wp_comments WHERE comment_post_ID = ID);
UPDATE wp_term_taxonomy SET count = 2 WHERE term_taxonomy_id = 1;
-- [shows]
SELECT p.post_title, display_name, coalesce(q.post_title, p.post_parent) FROM wp_posts AS p JOIN wp_users AS u
    ON u.ID = p.post_author LEFT JOIN wp_posts AS q ON q.ID = p.post_parent ORDER BY 1;
SELECT c.comment_content, post_title, coalesce(d.comment_content, c.comment_parent), coalesce(display_name, c.user_id)
    FROM wp_comments AS c JOIN wp_posts AS p ON p.ID = c.comment_post_ID LEFT JOIN wp_comments AS d ON d.comment_ID = c.comment_parent
    LEFT JOIN wp_users AS u ON u.ID = c.user_id ORDER BY 1;
SELECT post_title, t.name, coalesce(q.name, x.parent) FROM wp_term_relationships JOIN wp_posts ON ID = object_id
    JOIN wp_term_taxonomy AS x USING(term_taxonomy_id) JOIN wp_terms AS t USING(term_id)
    LEFT JOIN wp_terms AS q ON q.term_id = x.parent ORDER BY 1, 2;
SELECT post_title, meta_value FROM wp_postmeta JOIN wp_posts ON ID = post_id;
SELECT option_name, option_value FROM wp_options ORDER BY 1;
SELECT post_title, comment_count, (SELECT count(*) FROM wp_comments WHERE comment_post_ID = ID) FROM wp_posts ORDER BY 1;
SELECT name, count, (SELECT count(*) FROM wp_term_relationships AS r WHERE r.term_taxonomy_id = x.term_taxonomy_id)
    FROM wp_term_taxonomy AS x JOIN wp_terms USING(term_id) ORDER BY 1;
-- [expected]
Hello|Ann|0
Here|Bob|Hello
There|Ann|0
answer|There|of there|Ann
first|Hello|0|0
of here|Here|first|Bob
of there|There|0|Ann
on hello here|Hello|0|Bob
on hello there|Hello|0|Ann
Hello|News|0
Here|News|0
There|Local|News
There|News|0
Here|red
siteurl|http://x
theme|here
Hello|3|3
Here|1|1
There|2|2
Local|1|1
News|3|3
