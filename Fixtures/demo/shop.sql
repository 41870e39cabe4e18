-- A music shop as many programs have one: integer keys that each machine counts for itself, and foreign keys.
CREATE TABLE artists (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL
);
CREATE TABLE albums (
    id INTEGER PRIMARY KEY,
    artist_id INTEGER NOT NULL REFERENCES artists (id),
    title TEXT NOT NULL
);
CREATE TABLE tracks (
    id INTEGER PRIMARY KEY,
    album_id INTEGER NOT NULL REFERENCES albums (id),
    title TEXT NOT NULL,
    cents INTEGER NOT NULL DEFAULT 99
);
CREATE TABLE playlists (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL
);
CREATE TABLE playlist_track (
    playlist_id INTEGER NOT NULL REFERENCES playlists (id),
    track_id INTEGER NOT NULL REFERENCES tracks (id),
    PRIMARY KEY (playlist_id, track_id)
) WITHOUT ROWID;

INSERT INTO artists VALUES (1, 'John Coltrane'), (2, 'Abbey Lincoln');
INSERT INTO albums VALUES (1, 1, 'Blue Train'), (2, 2, 'Straight Ahead');
INSERT INTO tracks (id, album_id, title) VALUES (1, 1, 'Moment''s Notice'), (2, 1, 'Locomotion'), (3, 2, 'Blue Monk');
INSERT INTO playlists VALUES (1, 'Evening');
INSERT INTO playlist_track VALUES (1, 1), (1, 3);
