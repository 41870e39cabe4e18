-- [schema]
CREATE TABLE alembic_version(version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
INSERT INTO alembic_version VALUES('a1');
CREATE TABLE account(id INTEGER NOT NULL, name VARCHAR NOT NULL, PRIMARY KEY (id));
CREATE TABLE entry(id INTEGER NOT NULL, account_id INTEGER, amount INTEGER, PRIMARY KEY (id),
    FOREIGN KEY(account_id) REFERENCES account (id));
INSERT INTO account VALUES(1, 'Ann');
-- [here]
UPDATE alembic_version SET version_num = 'b2';
INSERT INTO account VALUES(2, 'Bob');
INSERT INTO entry VALUES(1, 2, 10);
-- [there]
INSERT INTO account VALUES(2, 'Cem');
INSERT INTO entry VALUES(1, 2, 20);
-- [shows]
SELECT a.name, e.amount FROM account AS a LEFT JOIN entry AS e ON e.account_id = a.id ORDER BY 1, 2;
-- [expected]
Ann|
Bob|10
Cem|20
-- [apart]
SELECT version_num FROM alembic_version;
