-- [schema]
CREATE TABLE "book"("id" INTEGER NOT NULL PRIMARY KEY, "name" VARCHAR(255) NOT NULL, "author" VARCHAR(255) NOT NULL,
    "reader" VARCHAR(255) NOT NULL, "position" INTEGER NOT NULL, "rating" INTEGER NOT NULL, "cover" BLOB, "playback_speed" REAL NOT NULL,
    "last_played" INTEGER NOT NULL, "offline" INTEGER NOT NULL, "downloaded" INTEGER NOT NULL);
CREATE TABLE "track"("id" INTEGER NOT NULL PRIMARY KEY, "name" VARCHAR(255) NOT NULL, "number" INTEGER NOT NULL, "disk" INTEGER NOT NULL,
    "position" INTEGER NOT NULL, "book_id" INTEGER NOT NULL, "length" REAL NOT NULL, FOREIGN KEY("book_id") REFERENCES "book"("id"));
CREATE TABLE "file"("id" INTEGER NOT NULL PRIMARY KEY, "path" VARCHAR(255) NOT NULL, "modified" INTEGER NOT NULL);
CREATE TABLE "tracktofile"("id" INTEGER NOT NULL PRIMARY KEY, "track_id" INTEGER NOT NULL, "file_id" INTEGER NOT NULL,
    "start_at" INTEGER NOT NULL, FOREIGN KEY("track_id") REFERENCES "track"("id"), FOREIGN KEY("file_id") REFERENCES "file"("id"));
CREATE TABLE "settings"("id" INTEGER NOT NULL PRIMARY KEY, "path" VARCHAR(255) NOT NULL, "first_start" INTEGER NOT NULL,
    "last_played_book_id" INTEGER, "version" INTEGER NOT NULL, FOREIGN KEY("last_played_book_id") REFERENCES "book"("id"));
CREATE TABLE "artworkcache"("id" INTEGER NOT NULL PRIMARY KEY, "book_id" INTEGER NOT NULL, "uuid" VARCHAR(255) NOT NULL,
    FOREIGN KEY("book_id") REFERENCES "book"("id"));
CREATE TABLE "storage"("id" INTEGER NOT NULL PRIMARY KEY, "path" VARCHAR(255) NOT NULL, "location_type" INTEGER NOT NULL,
    "default" INTEGER NOT NULL, "external" INTEGER NOT NULL);
CREATE TABLE "storageblacklist"("id" INTEGER NOT NULL PRIMARY KEY, "path" VARCHAR(255) NOT NULL);
CREATE TABLE "offlinecache"("id" INTEGER NOT NULL PRIMARY KEY, "original_file_id" INTEGER NOT NULL, "copied" INTEGER NOT NULL,
    "cached_file" VARCHAR(255) NOT NULL, FOREIGN KEY("original_file_id") REFERENCES "file"("id"));
INSERT INTO storage VALUES(1, '/books', 0, 1, 0); INSERT INTO book VALUES(1, 'Emma', 'Austen', 'Ann', 0, -1, NULL, 1.0, 0, 0, 0);
INSERT INTO track VALUES(1, 'Emma 1', 1, 1, 0, 1, 60), (2, 'Emma 2', 2, 1, 0, 1, 60);
INSERT INTO file VALUES(1, '/books/e1', 1), (2, '/books/e2', 1); INSERT INTO tracktofile VALUES(1, 1, 1, 0), (2, 2, 2, 0);
INSERT INTO settings VALUES(1, 'NOT_USED', 0, 1, 10); INSERT INTO artworkcache VALUES(1, 1, 'u1');
-- [here]
INSERT INTO book VALUES(2, 'Dune', 'Herbert', 'Bob', 3, -1, NULL, 1.0, 5, 0, 0); INSERT INTO track VALUES(3, 'Dune 1', 1, 1, 7, 2, 90);
INSERT INTO file VALUES(3, '/books/d1', 1); INSERT INTO tracktofile VALUES(3, 3, 3, 0);
UPDATE settings SET last_played_book_id = 2;
-- [there]
INSERT INTO book VALUES(2, 'Ulysses', 'Joyce', 'Cid', -1, -1, NULL, 1.5, 6, 0, 0); INSERT INTO track VALUES(3, 'Ulysses 1', 1, 1, 9, 2, 95);
INSERT INTO file VALUES(3, '/books/u1', 1); INSERT INTO tracktofile VALUES(3, 3, 3, 0);
UPDATE book SET position = 2, last_played = 8 WHERE id = 1; UPDATE track SET position = 44 WHERE id = 2;
-- [shows]
SELECT book.name, coalesce(track.name, book.position), track.position FROM book LEFT JOIN track ON track.id = book.position ORDER BY 1;
SELECT book.name, track.name, path FROM tracktofile JOIN track ON track.id = track_id JOIN file ON file.id = file_id JOIN book ON book.id = book_id ORDER BY 2;
SELECT version, first_start FROM settings;
-- [expected]
Dune|Dune 1|7
Emma|Emma 2|44
Ulysses|-1|
Dune|Dune 1|/books/d1
Emma|Emma 1|/books/e1
Emma|Emma 2|/books/e2
Ulysses|Ulysses 1|/books/u1
10|0
-- [apart]
SELECT name FROM settings JOIN book ON book.id = last_played_book_id;
