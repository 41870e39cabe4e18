-- [schema]
CREATE TABLE migration_log(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, migration_id TEXT NOT NULL, sql TEXT NOT NULL,
    success INTEGER NOT NULL, error TEXT NOT NULL, timestamp DATETIME NOT NULL);
CREATE TABLE org(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL);
CREATE UNIQUE INDEX UQE_org_name ON org(name);
CREATE TABLE user(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, version INTEGER NOT NULL, login TEXT NOT NULL, email TEXT NOT NULL,
    name TEXT NULL, org_id INTEGER NOT NULL, is_admin INTEGER NOT NULL, is_service_account BOOLEAN DEFAULT 0);
CREATE UNIQUE INDEX UQE_user_login ON user(login); CREATE UNIQUE INDEX UQE_user_email ON user(email);
CREATE TABLE org_user(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, org_id INTEGER NOT NULL, user_id INTEGER NOT NULL, role TEXT NOT NULL);
CREATE UNIQUE INDEX UQE_org_user_org_id_user_id ON org_user(org_id, user_id);
CREATE TABLE dashboard(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, version INTEGER NOT NULL, slug TEXT NOT NULL, title TEXT NOT NULL,
    data TEXT NOT NULL, org_id INTEGER NOT NULL, updated_by INTEGER, created_by INTEGER, gnet_id INTEGER, plugin_id TEXT,
    folder_id INTEGER NOT NULL DEFAULT 0, is_folder INTEGER NOT NULL DEFAULT 0, has_acl INTEGER NOT NULL DEFAULT 0, uid TEXT);
CREATE UNIQUE INDEX UQE_dashboard_org_id_uid ON dashboard(org_id, uid);
CREATE UNIQUE INDEX UQE_dashboard_org_id_folder_id_title ON dashboard(org_id, folder_id, title);
CREATE TABLE dashboard_version(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, dashboard_id INTEGER NOT NULL,
    parent_version INTEGER NOT NULL, restored_from INTEGER NOT NULL, version INTEGER NOT NULL, created_by INTEGER NOT NULL, data TEXT NOT NULL);
CREATE UNIQUE INDEX UQE_dashboard_version_dashboard_id_version ON dashboard_version(dashboard_id, version);
CREATE TABLE dashboard_tag(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, dashboard_id INTEGER NOT NULL, term TEXT NOT NULL);
CREATE TABLE data_source(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, org_id INTEGER NOT NULL, version INTEGER NOT NULL, type TEXT NOT NULL,
    name TEXT NOT NULL, basic_auth INTEGER NOT NULL, json_data TEXT NULL, with_credentials INTEGER NOT NULL DEFAULT 0, uid TEXT NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX UQE_data_source_org_id_name ON data_source(org_id, name);
CREATE UNIQUE INDEX UQE_data_source_org_id_uid ON data_source(org_id, uid);
CREATE TABLE star(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, user_id INTEGER NOT NULL, dashboard_id INTEGER NOT NULL);
CREATE UNIQUE INDEX UQE_star_user_id_dashboard_id ON star(user_id, dashboard_id);
CREATE TABLE annotation(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, org_id INTEGER NOT NULL, alert_id INTEGER NULL, user_id INTEGER NULL,
    dashboard_id INTEGER NULL, panel_id INTEGER NULL, category_id INTEGER NULL, text TEXT NOT NULL, region_id INTEGER NULL DEFAULT 0);
CREATE TABLE tag(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL);
CREATE UNIQUE INDEX UQE_tag_key_value ON tag(key, value);
CREATE TABLE annotation_tag(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, annotation_id INTEGER NOT NULL, tag_id INTEGER NOT NULL);
CREATE UNIQUE INDEX UQE_annotation_tag_annotation_id_tag_id ON annotation_tag(annotation_id, tag_id);
CREATE TABLE library_element(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, org_id INTEGER NOT NULL, folder_id INTEGER NOT NULL, uid TEXT NOT NULL,
    name TEXT NOT NULL, kind INTEGER NOT NULL, model TEXT NOT NULL, created_by INTEGER NOT NULL, updated_by INTEGER NOT NULL, version INTEGER NOT NULL);
CREATE UNIQUE INDEX UQE_library_element_org_id_folder_id_name_kind ON library_element(org_id, folder_id, name, kind);
CREATE UNIQUE INDEX UQE_library_element_org_id_uid ON library_element(org_id, uid);
CREATE TABLE library_element_connection(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, element_id INTEGER NOT NULL, kind INTEGER NOT NULL,
    connection_id INTEGER NOT NULL, created_by INTEGER NOT NULL);
CREATE UNIQUE INDEX UQE_library_element_connection ON library_element_connection(element_id, kind, connection_id);
CREATE TABLE role(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, org_id INTEGER NOT NULL, uid TEXT NOT NULL);
CREATE UNIQUE INDEX UQE_role_org_id_name ON role(org_id, name); CREATE UNIQUE INDEX UQE_role_uid ON role(uid);
CREATE TABLE permission(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, role_id INTEGER NOT NULL, action TEXT NOT NULL, scope TEXT NOT NULL);
CREATE UNIQUE INDEX UQE_permission_role_id_action_scope ON permission(role_id, action, scope);
CREATE TABLE kv_store(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, org_id INTEGER NOT NULL, namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL);
CREATE UNIQUE INDEX UQE_kv_store_org_id_namespace_key ON kv_store(org_id, namespace, key);
CREATE TABLE user_auth_token(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, user_id INTEGER NOT NULL, auth_token TEXT NOT NULL);
INSERT INTO migration_log VALUES(1, 'create migration_log table', '', 1, '', '2024-01-01');
INSERT INTO org(version, name) VALUES(1, 'Main Org.');
INSERT INTO user(version, login, email, name, org_id, is_admin) VALUES(0, 'admin', 'a@x', 'Ann', 1, 1), (0, 'bob', 'b@x', 'Bob', 1, 0);
INSERT INTO org_user(org_id, user_id, role) VALUES(1, 1, 'Admin'), (1, 2, 'Viewer');
INSERT INTO dashboard(version, slug, title, data, org_id, created_by, is_folder, uid) VALUES(1, 'ops', 'Ops', '{}', 1, 1, 1, 'f1');
INSERT INTO role(name, version, org_id, uid) VALUES('managed:users:2:permissions', 0, 1, 'r1'); INSERT INTO permission(role_id, action, scope) VALUES(1, 'dashboards:read', 'dashboards:uid:f1');
-- [here]
INSERT INTO dashboard(version, slug, title, data, org_id, created_by, updated_by, folder_id, uid) VALUES(1, 'disk', 'Disk', '{}', 1, 2, 1, 1, 'd1');
INSERT INTO dashboard_version(dashboard_id, parent_version, restored_from, version, created_by, data) VALUES(2, 0, 0, 1, 2, '{}');
INSERT INTO dashboard_tag(dashboard_id, term) VALUES(2, 'disk'); INSERT INTO star(user_id, dashboard_id) VALUES(2, 2);
INSERT INTO annotation(org_id, user_id, dashboard_id, panel_id, text) VALUES(1, 2, 2, 4, 'here'); INSERT INTO tag(key, value) VALUES('deploy', '');
INSERT INTO annotation_tag(annotation_id, tag_id) VALUES(1, 1); INSERT INTO permission(role_id, action, scope) VALUES(1, 'dashboards:read', 'dashboards:uid:d1');
INSERT INTO user_auth_token(user_id, auth_token) VALUES(2, 't'); INSERT INTO data_source(org_id, version, type, name, basic_auth, uid) VALUES(1, 1, 'prometheus', 'P', 0, 'p1');
-- [there]
INSERT INTO dashboard(version, slug, title, data, org_id, created_by, updated_by, folder_id, uid) VALUES(1, 'net', 'Net', '{}', 1, 1, 2, 1, 'd2'),
    (1, 'web', 'Web', '{}', 1, 1, 2, 0, 'd3');
INSERT INTO dashboard_version(dashboard_id, parent_version, restored_from, version, created_by, data) VALUES(2, 0, 0, 1, 1, '{}'), (3, 0, 0, 1, 1, '{}');
INSERT INTO star(user_id, dashboard_id) VALUES(1, 2), (2, 1);
INSERT INTO annotation(org_id, user_id, dashboard_id, panel_id, text) VALUES(1, 1, 2, 7, 'there');
INSERT INTO tag(key, value) VALUES('x', 'y'), ('deploy', ''); INSERT INTO annotation_tag(annotation_id, tag_id) VALUES(1, 2);
INSERT INTO library_element(org_id, folder_id, uid, name, kind, model, created_by, updated_by, version) VALUES(1, 1, 'l1', 'panel', 1, '{}', 2, 2, 1);
INSERT INTO library_element_connection(element_id, kind, connection_id, created_by) VALUES(1, 1, 3, 2);
-- [shows]
SELECT d.title, f.title, c.login, u.login, d.gnet_id FROM dashboard AS d LEFT JOIN dashboard AS f ON f.id = d.folder_id JOIN user AS c ON c.id = d.created_by
    LEFT JOIN user AS u ON u.id = d.updated_by ORDER BY 1;
SELECT title, dashboard_version.version, login FROM dashboard_version JOIN dashboard ON dashboard.id = dashboard_id
    JOIN user ON user.id = dashboard_version.created_by ORDER BY 1;
SELECT term, title FROM dashboard_tag JOIN dashboard ON dashboard.id = dashboard_id;
SELECT login, title FROM star JOIN dashboard ON dashboard.id = dashboard_id JOIN user ON user.id = user_id ORDER BY 1, 2;
SELECT text, panel_id, login, title, tag.key FROM annotation JOIN dashboard ON dashboard.id = dashboard_id JOIN user ON user.id = user_id
    JOIN annotation_tag ON annotation_id = annotation.id JOIN tag ON tag.id = tag_id ORDER BY 1;
SELECT e.name, title, login FROM library_element_connection AS c JOIN library_element AS e ON e.id = element_id JOIN dashboard ON dashboard.id = connection_id
    JOIN user ON user.id = c.created_by;
SELECT name, action, scope FROM permission JOIN role ON role.id = role_id ORDER BY 3; SELECT key FROM tag ORDER BY 1;
SELECT data_source.name, org.name FROM data_source JOIN org ON org.id = org_id;
-- [expected]
Disk|Ops|bob|admin|
Net|Ops|admin|bob|
Ops||admin||
Web||admin|bob|
Disk|1|bob
Net|1|admin
Web|1|admin
disk|Disk
admin|Net
bob|Disk
bob|Ops
here|4|bob|Disk|deploy
there|7|admin|Net|deploy
panel|Web|bob
managed:users:2:permissions|dashboards:read|dashboards:uid:d1
managed:users:2:permissions|dashboards:read|dashboards:uid:f1
deploy
x
P|Main Org.
-- [apart]
SELECT count(*) FROM user_auth_token;
