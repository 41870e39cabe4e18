-- [schema]
CREATE TABLE bookmarks(id integer PRIMARY KEY, URL text NOT NULL UNIQUE, metadata text default '',
    tags text DEFAULT ',', desc text default '', flags integer default 0);
INSERT INTO bookmarks(URL, metadata) VALUES('https://a.org', 'A'), ('https://b.org', 'B'), ('https://c.org', 'C');
-- [here]
DELETE FROM bookmarks WHERE id = 1;
UPDATE bookmarks SET id = 1 WHERE id = 3;
INSERT INTO bookmarks(URL, metadata) VALUES('https://both.org', 'here');
-- [there]
INSERT INTO bookmarks(URL, metadata) VALUES('https://d.org', 'D');
UPDATE bookmarks SET tags = ',x,' WHERE URL = 'https://b.org';
INSERT INTO bookmarks(URL, tags) VALUES('https://both.org', ',y,');
-- [shows]
SELECT URL, tags FROM bookmarks WHERE URL <> 'https://both.org' ORDER BY 1;
SELECT count(*) FROM bookmarks;
-- [expected]
https://b.org|,x,
https://c.org|,
https://d.org|,
4
