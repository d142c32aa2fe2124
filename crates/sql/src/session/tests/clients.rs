//! What drivers and tools say when they connect and look around: it must work.

use super::*;

fn prepared() -> Client {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE parent (id int AUTO_INCREMENT PRIMARY KEY, name varchar(50) NOT NULL, UNIQUE KEY un (name))");
    c.run("CREATE TABLE child (id bigint unsigned NOT NULL AUTO_INCREMENT, parent_id int NOT NULL, amt decimal(10,2) DEFAULT 1.5, ts timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, e enum('a','b'), b blob, txt text, PRIMARY KEY (id), KEY k (parent_id, amt))");
    c.run("INSERT INTO parent (name) VALUES ('n1'), ('n2')");
    c
}

#[test]
fn connectors_connect() {
    let mut c = prepared();
    for sql in [
        "/* mysql-connector-j */SELECT @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, @@character_set_results AS character_set_results, @@character_set_server AS character_set_server, @@collation_server AS collation_server, @@collation_connection AS collation_connection, @@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, @@license AS license, @@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS max_allowed_packet, @@net_write_timeout AS net_write_timeout, @@performance_schema AS performance_schema, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@transaction_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout",
        "SET character_set_results = NULL",
        "SET autocommit=1",
        "set sql_mode=CONCAT(@@sql_mode,',STRICT_TRANS_TABLES'),session_track_system_variables = CONCAT(@@global.session_track_system_variables,',transaction_isolation'),NAMES utf8mb4",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SELECT @@session.transaction_isolation",
        "SELECT VERSION(), DATABASE(), USER(), CURRENT_USER(), CONNECTION_ID()",
        "SELECT @@version, @@version_comment",
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci'",
        "SET lc_messages = 'en_US'",
        "SET collation_connection = 'utf8mb4_unicode_ci'",
        "SET time_zone = '+00:00'",
        "SET @@session.autocommit = OFF",
        "SET AUTOCOMMIT = 1",
        "SET @PREV_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT",
        "SET character_set_client = utf8mb3",
        "SET character_set_client = @PREV_CHARACTER_SET_CLIENT",
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */",
        "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */",
        "/*!40101 SET SQL_MODE=@OLD_SQL_MODE */",
        "/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */",
        "/*!40000 ALTER TABLE `child` DISABLE KEYS */",
        "LOCK TABLES `child` READ /*!32311 LOCAL */,`parent` READ /*!32311 LOCAL */",
        "LOCK TABLES mysql.func READ /*!32311 LOCAL */, mysql.user READ /*!32311 LOCAL */",
        "UNLOCK TABLES",
        "set optimizer_switch='semijoin=off'",
        "set optimizer_switch=default",
        "SET SQL_QUOTE_SHOW_CREATE=1",
        "SET SESSION character_set_results = 'binary'",
        "SET SESSION character_set_results = 'utf8mb4'",
        "select @@collation_database",
        "START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */",
        "SELECT /*!40001 SQL_NO_CACHE */ `id`, `name` FROM `parent`",
        "COMMIT",
        "SHOW STATUS LIKE 'binlog_snapshot_%'",
        "SHOW CREATE DATABASE IF NOT EXISTS `test`",
        "show events",
        "EXPLAIN SELECT * FROM parent WHERE id = 1",
    ] {
        c.run(sql);
    }
}

#[test]
fn tools_look_around() {
    let mut c = prepared();
    for sql in [
        "SELECT SCHEMA_NAME TABLE_CAT FROM INFORMATION_SCHEMA.SCHEMATA ORDER BY SCHEMA_NAME",
        "SELECT TABLE_SCHEMA TABLE_CAT, NULL TABLE_SCHEM, TABLE_NAME, IF(TABLE_TYPE='BASE TABLE' or TABLE_TYPE='SYSTEM VERSIONED', 'TABLE', TABLE_TYPE) as TABLE_TYPE, TABLE_COMMENT REMARKS FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA='test' ORDER BY TABLE_TYPE, TABLE_CAT, TABLE_NAME",
        "SELECT COLUMN_NAME, CASE data_type WHEN 'bit' THEN -7 WHEN 'tinyint' THEN IF(COLUMN_TYPE like '%unsigned%', 5, -6) WHEN 'bigint' THEN -5 ELSE 1111 END DATA_TYPE, IF(COLUMN_TYPE like 'tinyint(1)%', 'BIT', UCASE(IF(COLUMN_TYPE LIKE '%(%)%', CONCAT(SUBSTRING(COLUMN_TYPE,1, LOCATE('(',COLUMN_TYPE) - 1 ), SUBSTRING(COLUMN_TYPE ,1+locate(')', COLUMN_TYPE))), COLUMN_TYPE))) TYPE_NAME, CONVERT(CASE DATA_TYPE WHEN 'year' THEN NUMERIC_SCALE ELSE NUMERIC_SCALE END, UNSIGNED INTEGER) DECIMAL_DIGITS, LEAST(CHARACTER_OCTET_LENGTH,2147483647) CHAR_OCTET_LENGTH, IF(EXTRA = 'auto_increment','YES','NO') IS_AUTOINCREMENT FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA='test' AND TABLE_NAME='child' ORDER BY ORDINAL_POSITION",
        "SELECT TABLE_SCHEMA TABLE_CAT, TABLE_NAME, NON_UNIQUE, INDEX_NAME, 3 TYPE, SEQ_IN_INDEX ORDINAL_POSITION, COLUMN_NAME, COLLATION ASC_OR_DESC, CARDINALITY FROM INFORMATION_SCHEMA.STATISTICS WHERE TABLE_SCHEMA='test' AND TABLE_NAME = 'child' ORDER BY NON_UNIQUE, TYPE, INDEX_NAME, ORDINAL_POSITION",
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'test' AND table_name = 'parent' AND table_type = 'BASE TABLE'",
        "SELECT KCU.CONSTRAINT_NAME, KCU.TABLE_NAME, RC.UPDATE_RULE, RC.DELETE_RULE FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE AS KCU JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS AS RC USING(CONSTRAINT_NAME) WHERE KCU.REFERENCED_TABLE_NAME = 'parent' AND KCU.CONSTRAINT_SCHEMA = 'test' AND RC.CONSTRAINT_SCHEMA = 'test'",
        "SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `TABLE_COMMENT` FROM `INFORMATION_SCHEMA`.`TABLES` WHERE `TABLE_SCHEMA` = 'test' AND `TABLE_NAME` = 'parent' UNION SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `TABLE_COMMENT` FROM `INFORMATION_SCHEMA`.`TABLES` WHERE `TABLE_SCHEMA` = 'test' AND `TABLE_NAME` = 'child'",
        "SELECT * FROM (SELECT * FROM `INFORMATION_SCHEMA`.`KEY_COLUMN_USAGE` `kcu` WHERE `kcu`.`TABLE_SCHEMA` = 'test' AND `kcu`.`TABLE_NAME` = 'child') `kcu` WHERE `CONSTRAINT_NAME` = 'PRIMARY'",
        "SELECT `SCHEMA_NAME` FROM `INFORMATION_SCHEMA`.`SCHEMATA`, (SELECT DB_first_level FROM ( SELECT DISTINCT SUBSTRING_INDEX(SCHEMA_NAME, '_', 1) DB_first_level FROM INFORMATION_SCHEMA.SCHEMATA WHERE TRUE ) t ORDER BY DB_first_level ASC LIMIT 0, 100) t2 WHERE TRUE AND 1 = LOCATE(CONCAT(DB_first_level, '_'), CONCAT(SCHEMA_NAME, '_')) ORDER BY SCHEMA_NAME ASC",
        "SELECT 1 FROM (SELECT `GRANTEE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`COLUMN_PRIVILEGES` UNION SELECT `GRANTEE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`TABLE_PRIVILEGES` UNION SELECT `GRANTEE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`SCHEMA_PRIVILEGES` UNION SELECT `GRANTEE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`USER_PRIVILEGES`) t WHERE `IS_GRANTABLE` = 'YES' AND '''root''@''localhost''' LIKE `GRANTEE` LIMIT 1",
        "SELECT *, `COLUMN_NAME` AS `Field`, `COLUMN_TYPE` AS `Type`, `COLLATION_NAME` AS `Collation` FROM `information_schema`.`COLUMNS` WHERE `TABLE_SCHEMA` = 'test' AND `TABLE_NAME` = 'parent'",
        "SELECT `CHARACTER_SET_NAME` AS `Charset`, `DEFAULT_COLLATE_NAME` AS `Default collation` FROM `information_schema`.`CHARACTER_SETS`",
        "(SELECT DISTINCT `User`, `Host` FROM `mysql`.`user` ) UNION (SELECT DISTINCT `User`, `Host` FROM `mysql`.`db` ) UNION (SELECT DISTINCT `User`, `Host` FROM `mysql`.`tables_priv` ) ORDER BY `User` ASC, `Host` ASC",
        "SELECT user, SUBSTRING_INDEX(host, ':', 1) AS host, COALESCE(command, '') AS command, COALESCE(state, '') AS state, COUNT(*) AS processes, SUM(time) AS seconds FROM information_schema.processlist WHERE ID != connection_id() AND TIME >= 0 GROUP BY user, host, command, state",
        "SELECT c.table_schema, c.table_name, column_name, auto_increment, pow(2, case data_type when 'tinyint' then 7 when 'int' then 31 when 'bigint' then 63 end+(column_type like '% unsigned'))-1 as max_int FROM information_schema.columns c STRAIGHT_JOIN information_schema.tables t ON (BINARY c.table_schema=t.table_schema AND BINARY c.table_name=t.table_name) WHERE c.extra = 'auto_increment' AND t.auto_increment IS NOT NULL",
        "SELECT SCHEMA_NAME from Information_schema.SCHEMATA where SCHEMA_NAME LIKE 'te%' ORDER BY SCHEMA_NAME='test' DESC,SCHEMA_NAME limit 1",
        "SELECT name, subsystem, type, comment, count FROM information_schema.innodb_metrics WHERE `status` = 'enabled'",
        "SELECT LOGFILE_GROUP_NAME FROM INFORMATION_SCHEMA.FILES WHERE FILE_TYPE = 'UNDO LOG' AND LOGFILE_GROUP_NAME IN (SELECT DISTINCT LOGFILE_GROUP_NAME FROM INFORMATION_SCHEMA.FILES WHERE TABLESPACE_NAME IN (SELECT DISTINCT TABLESPACE_NAME FROM INFORMATION_SCHEMA.PARTITIONS WHERE TABLE_SCHEMA IN ('test')))",
        "SHOW FULL TABLES FROM `test` LIKE '%'",
        "SHOW GLOBAL VARIABLES WHERE Variable_Name='userstat' OR Variable_Name='userstat_running'",
        "SHOW VARIABLES LIKE 'innodb\\_lock_wait_timeout'",
        "show full fields from `parent` where field = 'name'",
    ] {
        c.run(sql);
    }
}

#[test]
fn a_dump_can_be_loaded() {
    let mut c = prepared();
    let text = c.rows("SHOW CREATE TABLE child")[0][1].clone();
    c.run("CREATE DATABASE app2");
    c.run("USE app2");
    c.run(&format!("DROP TABLE IF EXISTS `child`;\n{text};\nLOCK TABLES `child` WRITE;\nINSERT INTO `child` VALUES (1,2,'1.50','2024-01-01 00:00:00','a',_binary 'x','y');\nUNLOCK TABLES;"));
    assert_eq!(c.rows("SELECT id, e, txt FROM child"), [["1", "a", "y"]]);
}
