-- [schema]
CREATE TABLE gnclock ( Hostname varchar(255), PID int );
CREATE TABLE versions(table_name text(50) PRIMARY KEY NOT NULL, table_version integer NOT NULL);
CREATE TABLE books(guid text(32) PRIMARY KEY NOT NULL, root_account_guid text(32) NOT NULL, root_template_guid
    text(32) NOT NULL);
CREATE TABLE commodities(guid text(32) PRIMARY KEY NOT NULL, namespace text(2048) NOT NULL, mnemonic text(2048) NOT
    NULL, fullname text(2048), cusip text(2048), fraction integer NOT NULL, quote_flag integer NOT NULL, quote_source
    text(2048), quote_tz text(2048));
CREATE TABLE accounts(guid text(32) PRIMARY KEY NOT NULL, name text(2048) NOT NULL, account_type text(2048) NOT NULL,
    commodity_guid text(32), commodity_scu integer NOT NULL, non_std_scu integer NOT NULL, parent_guid text(32), code
    text(2048), description text(2048), hidden integer, placeholder integer);
CREATE TABLE transactions(guid text(32) PRIMARY KEY NOT NULL, currency_guid text(32) NOT NULL, num text(2048) NOT
    NULL, post_date text(19), enter_date text(19), description text(2048));
CREATE TABLE splits(guid text(32) PRIMARY KEY NOT NULL, tx_guid text(32) NOT NULL, account_guid text(32) NOT NULL,
    memo text(2048) NOT NULL, action text(2048) NOT NULL, reconcile_state text(1) NOT NULL, reconcile_date text(19),
    value_num bigint NOT NULL, value_denom bigint NOT NULL, quantity_num bigint NOT NULL, quantity_denom bigint NOT
    NULL, lot_guid text(32));
CREATE TABLE slots(id integer PRIMARY KEY AUTOINCREMENT NOT NULL, obj_guid text(32) NOT NULL, name text(4096) NOT
    NULL, slot_type integer NOT NULL, int64_val bigint, string_val text(4096), double_val float8, timespec_val
    text(19), guid_val text(32), numeric_val_num bigint, numeric_val_denom bigint, gdate_val text(8));
CREATE INDEX tx_post_date_index ON transactions(post_date);
CREATE INDEX splits_tx_guid_index ON splits(tx_guid);
CREATE INDEX splits_account_guid_index ON splits(account_guid);
CREATE INDEX slots_guid_index ON slots(obj_guid);
INSERT INTO gnclock VALUES('desk', 41);
INSERT INTO versions VALUES('splits', 5);
INSERT INTO books VALUES('b0', 'r0', 't0');
INSERT INTO commodities VALUES('c0', 'CURRENCY', 'EUR', 'Euro', '978', 100, 1, 'currency', '');
INSERT INTO accounts VALUES('r0', 'Root Account', 'ROOT', NULL, 0, 0, NULL, '', '', 0, 0),
    ('a0', 'Cash', 'CASH', 'c0', 100, 0, 'r0', '', '', 0, 0), ('a1', 'Food', 'EXPENSE', 'c0', 100, 0, 'r0', '', '', 0, 0);
INSERT INTO transactions VALUES('t1', 'c0', '', '2026-02-01', '2026-02-01', 'Bread');
INSERT INTO splits VALUES('s1', 't1', 'a0', '', '', 'n', NULL, -700, 100, -700, 100, NULL),
    ('s2', 't1', 'a1', '', '', 'n', NULL, 700, 100, 700, 100, NULL);
INSERT INTO slots(obj_guid, name, slot_type, string_val) VALUES('t1', 'notes', 4, 'from the baker');
-- [here]
INSERT INTO accounts VALUES('a2', 'Books', 'EXPENSE', 'c0', 100, 0, 'r0', '', '', 0, 0);
INSERT INTO transactions VALUES('t2', 'c0', '', '2026-02-02', '2026-02-02', 'Dune');
INSERT INTO splits VALUES('s3', 't2', 'a0', '', '', 'n', NULL, -900, 100, -900, 100, NULL),
    ('s4', 't2', 'a2', '', '', 'n', NULL, 900, 100, 900, 100, NULL);
INSERT INTO slots(obj_guid, name, slot_type, string_val) VALUES('t2', 'notes', 4, 'second hand');
DELETE FROM slots WHERE obj_guid = 't1';
INSERT INTO slots(obj_guid, name, slot_type, string_val) VALUES('t1', 'notes', 4, 'from the new baker');
-- [there]
UPDATE transactions SET description = 'Bread and rolls' WHERE guid = 't1';
INSERT INTO transactions VALUES('t3', 'c0', '', '2026-02-03', '2026-02-03', 'Milk');
INSERT INTO splits VALUES('s5', 't3', 'a0', '', '', 'n', NULL, -100, 100, -100, 100, NULL),
    ('s6', 't3', 'a1', '', '', 'n', NULL, 100, 100, 100, 100, NULL);
INSERT INTO slots(obj_guid, name, slot_type, string_val) VALUES('t3', 'notes', 4, 'a litre');
-- [shows]
SELECT t.description, n.string_val, group_concat(a.name || ' ' || s.value_num, ', ')
    FROM transactions AS t JOIN slots AS n ON n.obj_guid = t.guid JOIN (SELECT * FROM splits ORDER BY guid) AS s
    ON s.tx_guid = t.guid JOIN accounts AS a ON a.guid = s.account_guid GROUP BY t.guid ORDER BY t.guid;
SELECT a.name, sum(s.value_num) FROM accounts AS a JOIN splits AS s ON s.account_guid = a.guid GROUP BY a.guid ORDER BY 1;
-- [expected]
Bread and rolls|from the new baker|Cash -700, Food 700
Dune|second hand|Cash -900, Books 900
Milk|a litre|Cash -100, Food 100
Books|900
Cash|-1700
Food|800
-- [apart]
SELECT count(*) FROM gnclock;
