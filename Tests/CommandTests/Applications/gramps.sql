-- [schema]
CREATE TABLE person(handle VARCHAR(50) PRIMARY KEY NOT NULL, given_name TEXT, surname TEXT, blob_data BLOB,
    gramps_id TEXT, gender INTEGER, change INTEGER);
CREATE TABLE family(handle VARCHAR(50) PRIMARY KEY NOT NULL, father_handle VARCHAR(50), mother_handle VARCHAR(50),
    blob_data BLOB, gramps_id TEXT);
CREATE TABLE citation(handle VARCHAR(50) PRIMARY KEY NOT NULL, blob_data BLOB, gramps_id TEXT, page TEXT);
CREATE TABLE reference(obj_handle VARCHAR(50), obj_class TEXT, ref_handle VARCHAR(50), ref_class TEXT);
CREATE TABLE gender_stats(given_name TEXT, female INTEGER, male INTEGER, unknown INTEGER);
CREATE TABLE metadata(setting VARCHAR(50) PRIMARY KEY NOT NULL, value BLOB);
INSERT INTO person VALUES('p1', 'Ann', 'Lee', x'01', 'I1', 0, 1);
INSERT INTO reference VALUES('f0', 'Family', 'p1', 'Person');
-- [here]
UPDATE person SET given_name = 'Anna', blob_data = x'0A' WHERE handle = 'p1';
INSERT INTO person VALUES('p2', 'Bob', 'Lee', x'02', 'I2', 1, 1);
INSERT INTO reference VALUES('f1', 'Family', 'p2', 'Person');
INSERT INTO gender_stats VALUES('Bob', 0, 1, 0);
-- [there]
INSERT INTO person VALUES('p3', 'Cem', 'Kaya', x'03', 'I3', 1, 1);
INSERT INTO family VALUES('f1', 'p3', 'p1', x'04', 'F1');
-- [shows]
SELECT handle, given_name, hex(blob_data) FROM person ORDER BY 1;
SELECT father_handle FROM family;
SELECT obj_handle, ref_handle FROM reference ORDER BY 1;
-- [expected]
p1|Anna|0A
p2|Bob|02
p3|Cem|03
p3
f0|p1
f1|p2
-- [apart]
SELECT count(*) FROM gender_stats;
