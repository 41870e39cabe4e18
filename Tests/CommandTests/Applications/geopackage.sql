-- [schema]
CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL,srs_id INTEGER NOT NULL PRIMARY KEY,organization TEXT NOT
    NULL,organization_coordsys_id INTEGER NOT NULL,definition TEXT NOT NULL,description TEXT);
CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY,data_type TEXT NOT NULL,identifier TEXT
    UNIQUE,description TEXT DEFAULT '',last_change DATETIME NOT NULL DEFAULT
    (strftime('%Y-%m-%dT%H:%M:%fZ','now')),min_x DOUBLE, min_y DOUBLE,max_x DOUBLE, max_y DOUBLE,srs_id
    INTEGER,CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys(srs_id));
CREATE TABLE gpkg_ogr_contents(table_name TEXT NOT NULL PRIMARY KEY,feature_count INTEGER DEFAULT NULL);
CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL,column_name TEXT NOT NULL,geometry_type_name TEXT NOT
    NULL,srs_id INTEGER NOT NULL,z TINYINT NOT NULL,m TINYINT NOT NULL,CONSTRAINT pk_geom_cols PRIMARY KEY
    (table_name, column_name),CONSTRAINT uk_gc_table_name UNIQUE (table_name),CONSTRAINT fk_gc_tn FOREIGN KEY
    (table_name) REFERENCES gpkg_contents(table_name),CONSTRAINT fk_gc_srs FOREIGN KEY (srs_id) REFERENCES
    gpkg_spatial_ref_sys (srs_id));
CREATE TABLE gpkg_extensions (table_name TEXT,column_name TEXT,extension_name TEXT NOT NULL,definition TEXT NOT
    NULL,scope TEXT NOT NULL,CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name));
CREATE TABLE "trees" ( "fid" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, "geom" POINT, "name" TEXT, "height" INTEGER);
CREATE VIRTUAL TABLE "rtree_trees_geom" USING rtree(id, minx, maxx, miny, maxy);
CREATE TRIGGER "rtree_trees_geom_insert" AFTER INSERT ON "trees" WHEN (new."geom" NOT NULL AND NOT
    ST_IsEmpty(NEW."geom")) BEGIN INSERT OR REPLACE INTO "rtree_trees_geom" VALUES (NEW."fid",ST_MinX(NEW."geom"),
    ST_MaxX(NEW."geom"),ST_MinY(NEW."geom"), ST_MaxY(NEW."geom")); END;
CREATE TRIGGER "rtree_trees_geom_update1" AFTER UPDATE OF "geom" ON "trees" WHEN OLD."fid" = NEW."fid" AND (NEW."geom"
    NOTNULL AND NOT ST_IsEmpty(NEW."geom")) BEGIN INSERT OR REPLACE INTO "rtree_trees_geom" VALUES
    (NEW."fid",ST_MinX(NEW."geom"), ST_MaxX(NEW."geom"),ST_MinY(NEW."geom"), ST_MaxY(NEW."geom")); END;
CREATE TRIGGER "rtree_trees_geom_update2" AFTER UPDATE OF "geom" ON "trees" WHEN OLD."fid" = NEW."fid" AND (NEW."geom"
    ISNULL OR ST_IsEmpty(NEW."geom")) BEGIN DELETE FROM "rtree_trees_geom" WHERE id = OLD."fid"; END;
CREATE TRIGGER "rtree_trees_geom_update3" AFTER UPDATE ON "trees" WHEN OLD."fid" != NEW."fid" AND (NEW."geom" NOTNULL
    AND NOT ST_IsEmpty(NEW."geom")) BEGIN DELETE FROM "rtree_trees_geom" WHERE id = OLD."fid"; INSERT OR REPLACE INTO
    "rtree_trees_geom" VALUES (NEW."fid",ST_MinX(NEW."geom"), ST_MaxX(NEW."geom"),ST_MinY(NEW."geom"),
    ST_MaxY(NEW."geom")); END;
CREATE TRIGGER "rtree_trees_geom_update4" AFTER UPDATE ON "trees" WHEN OLD."fid" != NEW."fid" AND (NEW."geom" ISNULL
    OR ST_IsEmpty(NEW."geom")) BEGIN DELETE FROM "rtree_trees_geom" WHERE id IN (OLD."fid", NEW."fid"); END;
CREATE TRIGGER "rtree_trees_geom_delete" AFTER DELETE ON "trees" WHEN old."geom" NOT NULL BEGIN DELETE FROM
    "rtree_trees_geom" WHERE id = OLD."fid"; END;
CREATE TRIGGER "trigger_insert_feature_count_trees" AFTER INSERT ON "trees" BEGIN UPDATE gpkg_ogr_contents SET
    feature_count = feature_count + 1 WHERE lower(table_name) = lower('trees'); END;
CREATE TRIGGER "trigger_delete_feature_count_trees" AFTER DELETE ON "trees" BEGIN UPDATE gpkg_ogr_contents SET
    feature_count = feature_count - 1 WHERE lower(table_name) = lower('trees'); END;
INSERT INTO gpkg_contents VALUES('trees', 'features', 'trees', '', '2026-11-26T12:01:06.037Z', 10.0, 0.0, 12.0, 2.0,
    4326);
INSERT INTO gpkg_geometry_columns VALUES('trees', 'geom', 'POINT', 4326, 0, 0);
INSERT INTO gpkg_extensions VALUES('trees', 'geom', 'gpkg_rtree_index',
    'http://www.geopackage.org/spec120/#extension_rtree', 'write-only');
INSERT INTO gpkg_spatial_ref_sys VALUES('WGS 84 geodetic', 4326, 'EPSG', 4326, 'undefined', NULL);
INSERT INTO gpkg_ogr_contents VALUES('trees', 0);
INSERT INTO trees(geom, name, height) VALUES(X'47500001E610000001010000000000000000002440000000000000F03F', 'oak', 12), (X'47500001E6100000010100000000000000000026400000000000000040', 'ash', 9), (X'47500001E6100000010100000000000000000028400000000000000840', 'elm', 7);
-- [here]
INSERT INTO trees(geom, name, height) VALUES(X'47500001E610000001010000000000000000003440000000000000F03F', 'lime', 4);
UPDATE trees SET geom = X'47500001E6100000010100000000000000008056400000000000005440' WHERE name = 'ash';
INSERT INTO gpkg_contents(table_name, data_type, identifier) VALUES('roads', 'features', 'roads');
-- [there]
INSERT INTO trees(geom, name, height) VALUES(X'47500001E610000001010000000000000000003E40000000000000F03F', 'yew', 3);
DELETE FROM trees WHERE name = 'elm';
UPDATE trees SET height = 13 WHERE name = 'oak';
-- [shows]
SELECT t.name, t.height FROM trees AS t JOIN rtree_trees_geom AS r ON r.id = t.fid
    WHERE r.minx >= 0 AND r.maxx <= 50 ORDER BY 1;
SELECT name FROM trees ORDER BY 1;
SELECT count(*) FROM rtree_trees_geom;
-- [expected]
lime|4
oak|13
yew|3
ash
lime
oak
yew
4
-- [apart]
SELECT count(*) FROM gpkg_contents;
