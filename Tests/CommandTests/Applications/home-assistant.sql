-- [schema]
CREATE TABLE event_types(event_type_id INTEGER NOT NULL, event_type VARCHAR(64), PRIMARY KEY (event_type_id));
CREATE UNIQUE INDEX ix_event_types_event_type ON event_types(event_type);
CREATE TABLE event_data(data_id INTEGER NOT NULL, hash BIGINT, shared_data TEXT, PRIMARY KEY (data_id));
CREATE TABLE events(event_id INTEGER NOT NULL, data_id INTEGER, event_type_id INTEGER, time_fired_ts FLOAT,
    context_id_bin BLOB, context_parent_id_bin BLOB,
    PRIMARY KEY (event_id), FOREIGN KEY(data_id) REFERENCES event_data (data_id),
    FOREIGN KEY(event_type_id) REFERENCES event_types (event_type_id));
CREATE TABLE states_meta(metadata_id INTEGER NOT NULL, entity_id VARCHAR(255), PRIMARY KEY (metadata_id));
CREATE UNIQUE INDEX ix_states_meta_entity_id ON states_meta(entity_id);
CREATE TABLE state_attributes(attributes_id INTEGER NOT NULL, hash BIGINT, shared_attrs TEXT,
    PRIMARY KEY (attributes_id));
CREATE TABLE states(state_id INTEGER NOT NULL, state VARCHAR(255), event_id SMALLINT, last_updated_ts FLOAT,
    old_state_id INTEGER, attributes_id INTEGER, metadata_id INTEGER, context_id_bin BLOB, context_parent_id_bin BLOB,
    PRIMARY KEY (state_id),
    FOREIGN KEY(old_state_id) REFERENCES states (state_id),
    FOREIGN KEY(attributes_id) REFERENCES state_attributes (attributes_id),
    FOREIGN KEY(metadata_id) REFERENCES states_meta (metadata_id));
CREATE TABLE recorder_runs(run_id INTEGER NOT NULL, start DATETIME NOT NULL, end DATETIME, PRIMARY KEY (run_id));
CREATE TABLE schema_changes(change_id INTEGER NOT NULL, schema_version INTEGER, PRIMARY KEY (change_id));
CREATE TABLE statistics_meta(id INTEGER NOT NULL, statistic_id VARCHAR(255), PRIMARY KEY (id));
CREATE UNIQUE INDEX ix_statistics_meta_statistic_id ON statistics_meta(statistic_id);
CREATE TABLE statistics(id INTEGER NOT NULL, metadata_id INTEGER, start_ts FLOAT, mean FLOAT, PRIMARY KEY (id),
    FOREIGN KEY(metadata_id) REFERENCES statistics_meta (id) ON DELETE CASCADE);
CREATE UNIQUE INDEX ix_statistics_statistic_id_start_ts ON statistics(metadata_id, start_ts);
INSERT INTO recorder_runs VALUES(1, '2026', NULL); INSERT INTO schema_changes VALUES(1, 50);
INSERT INTO states_meta VALUES(1, 'light.desk');
-- [here]
INSERT INTO states_meta VALUES(2, 'sensor.air');
INSERT INTO states(state_id, state, event_id, last_updated_ts, old_state_id, attributes_id, metadata_id)
    VALUES(1, 'on', NULL, 1, NULL, NULL, 1), (2, '20', NULL, 2, NULL, NULL, 2), (3, '21', NULL, 3, 2, NULL, 2);
INSERT INTO recorder_runs VALUES(2, '2027', NULL);
INSERT INTO statistics_meta VALUES(1, 'sensor.air'); INSERT INTO statistics VALUES(1, 1, 10, 20);
-- [there]
INSERT INTO states_meta VALUES(2, 'sensor.sea');
INSERT INTO states(state_id, state, event_id, last_updated_ts, old_state_id, attributes_id, metadata_id)
    VALUES(1, '9', NULL, 4, NULL, NULL, 2), (2, '8', NULL, 5, 1, NULL, 2);
INSERT INTO statistics_meta VALUES(1, 'sensor.sea'); INSERT INTO statistics VALUES(1, 1, 10, 8);
-- [shows]
SELECT m.entity_id, s.state, o.state FROM states AS s JOIN states_meta AS m USING (metadata_id)
    LEFT JOIN states AS o ON o.state_id = s.old_state_id ORDER BY s.last_updated_ts;
SELECT m.statistic_id, s.mean FROM statistics AS s JOIN statistics_meta AS m ON m.id = s.metadata_id ORDER BY 1;
-- [expected]
light.desk|on|
sensor.air|20|
sensor.air|21|20
sensor.sea|9|
sensor.sea|8|9
sensor.air|20.0
sensor.sea|8.0
-- [apart]
SELECT count(*) FROM recorder_runs;
