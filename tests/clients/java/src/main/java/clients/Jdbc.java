package clients;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.math.BigDecimal;
import java.sql.*;
import java.time.LocalDate;
import java.time.LocalDateTime;

/** Both JDBC drivers, under HikariCP: types, batches, errors, metadata, cursors. */
final class Jdbc {
    static void run(String driver) throws Exception {
        String[] ways = driver.equals("mysql")
            ? new String[] {"useSSL=false&allowPublicKeyRetrieval=true", "sslMode=REQUIRED&useServerPrepStmts=true&cachePrepStmts=true&rewriteBatchedStatements=true", "allowPublicKeyRetrieval=true&useCursorFetch=true&defaultFetchSize=10&allowMultiQueries=true&useInformationSchema=true&databaseTerm=SCHEMA"}
            : new String[] {"allowPublicKeyRetrieval=true&permitMysqlScheme", "useServerPrepStmts=true&useBulkStmts=true&allowPublicKeyRetrieval=true", "allowPublicKeyRetrieval=true&useCompression=true&allowMultiQueries=true"};
        for (String way : ways) {
            if (Place.MARIADB && way.contains("sslMode")) {
                way = way.replace("sslMode=REQUIRED&", "useSSL=false&allowPublicKeyRetrieval=true&");
            }
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(Place.url(driver, way));
            config.setUsername(Place.USER);
            config.setPassword(Place.PASSWORD);
            config.setMaximumPoolSize(3);
            config.setConnectionTestQuery(null);
            config.setTransactionIsolation("TRANSACTION_READ_COMMITTED");
            try (HikariDataSource pool = new HikariDataSource(config); Connection c = pool.getConnection()) {
                statements(c);
                metadata(c);
                try (Statement s = c.createStatement()) {
                    s.execute("DROP TABLE c");
                    s.execute("DROP TABLE t");
                }
            }
        }
    }

    private static void statements(Connection c) throws Exception {
        try (Statement s = c.createStatement()) {
            s.execute("CREATE TABLE t (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30) NOT NULL, price DECIMAL(10,2), at DATETIME(6), d DATE, tm TIME(3), ts TIMESTAMP NULL, raw LONGBLOB, txt LONGTEXT, yes TINYINT(1), bits BIT(5), f FLOAT, n DOUBLE, e ENUM('a','b'), y YEAR, doc JSON, UNIQUE KEY by_name (name)) COMMENT 'things'");
            s.execute("CREATE TABLE c (id INT PRIMARY KEY COMMENT 'a key', t_id BIGINT UNSIGNED, CONSTRAINT owned FOREIGN KEY (t_id) REFERENCES t (id) ON DELETE CASCADE, KEY k (t_id, id))");
        }
        // MySQL's driver sends MariaDB no fractions of a second.
        boolean whole = Place.MARIADB && c.getMetaData().getURL().startsWith("jdbc:mysql");
        LocalDateTime at = LocalDateTime.of(2024, 2, 29, 1, 2, 3, whole ? 0 : 456789000);
        try (PreparedStatement in = c.prepareStatement("INSERT INTO t (name, price, at, d, tm, raw, txt, yes, bits, f, n, e, y, doc) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)", Statement.RETURN_GENERATED_KEYS)) {
            for (int n = 1; n <= 40; n++) {
                in.setString(1, "n" + n);
                in.setBigDecimal(2, new BigDecimal(n).divide(new BigDecimal(4)));
                in.setObject(3, at);
                in.setObject(4, LocalDate.of(2024, 2, 29));
                in.setString(5, "12:00:01.5");
                in.setBytes(6, new byte[] {0, -1, '\''});
                in.setString(7, "ü😀");
                in.setBoolean(8, true);
                in.setInt(9, 21);
                in.setFloat(10, 0.5f);
                in.setDouble(11, 1e300);
                in.setString(12, "b");
                in.setInt(13, 2024);
                in.setString(14, "{\"a\": 1}");
                in.addBatch();
            }
            Place.same("a batch", in.executeBatch().length, 40);
            try (ResultSet keys = in.getGeneratedKeys()) {
                keys.next();
                Place.same("the first key", keys.getLong(1), 1);
            }
        }
        try (PreparedStatement out = c.prepareStatement("SELECT * FROM t WHERE id = ?")) {
            for (int turn = 0; turn < 3; turn++) {
                out.setLong(1, 6);
                try (ResultSet r = out.executeQuery()) {
                    r.next();
                    Place.same("a row", r.getString("name") + r.getBigDecimal("price") + r.getObject("at", LocalDateTime.class) + r.getDate("d") + r.getString("tm").substring(0, 10) + r.getTimestamp("ts") + r.getBytes("raw").length + r.getString("txt") + r.getBoolean("yes") + r.getFloat("f") + r.getDouble("n") + r.getString("e") + r.getInt("y"),
                        "n61.50" + at + "2024-02-29" + "12:00:01.5" + "null3ü😀true0.51.0E300b2024");
                }
            }
        }
        try (Statement s = c.createStatement()) {
            Place.refused(SQLIntegrityConstraintViolationException.class, 1062, () -> s.execute("INSERT INTO t (name) VALUES ('n1')"));
            Place.refused(SQLIntegrityConstraintViolationException.class, 1452, () -> s.execute("INSERT INTO c VALUES (1, 99)"));
            Place.refused(SQLSyntaxErrorException.class, 1064, () -> s.execute("SELEC"));
            Place.refused(SQLSyntaxErrorException.class, 1146, () -> s.execute("SELECT * FROM nope"));
            Place.refused(SQLException.class, 1406, () -> s.execute("INSERT INTO t (name) VALUES (REPEAT('x', 31))"));
            c.setAutoCommit(false);
            Savepoint p = c.setSavepoint("p");
            s.executeUpdate("DELETE FROM t");
            c.rollback(p);
            s.executeUpdate("INSERT INTO c VALUES (1, 1), (2, 2)");
            c.commit();
            c.setAutoCommit(true);
            try (ResultSet r = s.executeQuery("SELECT t.name, COUNT(c.id) n, SUM(price) FROM t LEFT JOIN c ON c.t_id = t.id GROUP BY t.name ORDER BY 2 DESC, 1 LIMIT 1")) {
                r.next();
                Place.same("a join", r.getString(1) + r.getInt(2) + r.getBigDecimal(3), "n110.25");
            }
            c.setReadOnly(true);
            c.setReadOnly(false);
            try (Statement u = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE); ResultSet r = u.executeQuery("SELECT id, name FROM t WHERE id = 40")) {
                r.next();
                r.updateString("name", "new");
                r.updateRow();
            }
        }
    }

    private static String all(ResultSet r, String... columns) throws SQLException {
        StringBuilder out = new StringBuilder();
        try (r) {
            while (r.next()) {
                for (String column : columns) {
                    out.append(r.getString(column)).append(' ');
                }
            }
        }
        return out.toString().trim();
    }

    private static void metadata(Connection c) throws Exception {
        DatabaseMetaData m = c.getMetaData();
        String schema = m.getURL().contains("databaseTerm=SCHEMA") ? Place.DATABASE : null;
        String catalog = schema == null ? Place.DATABASE : null;
        // It does not always ask MariaDB for comments.
        String tables = all(m.getTables(catalog, schema, "%", new String[] {"TABLE"}), "TABLE_NAME", "REMARKS");
        Place.same("tables", Place.MARIADB ? tables.replace(" things", "") : tables, Place.MARIADB ? "c  t" : "c  t things");
        Place.same("columns", all(m.getColumns(catalog, schema, "c", "%"), "COLUMN_NAME", "DATA_TYPE", "NULLABLE", "REMARKS"), "id 4 0 a key t_id -5 1");
        Place.same("a primary key", all(m.getPrimaryKeys(catalog, schema, "t"), "COLUMN_NAME", "KEY_SEQ"), "id 1");
        Place.same("foreign keys", all(m.getImportedKeys(catalog, schema, "c"), "PKTABLE_NAME", "FKCOLUMN_NAME", "FK_NAME", "DELETE_RULE"), "t t_id owned 0");
        // MySQL's driver has a row for each unique key of the table as well.
        Place.same("keys of others", all(m.getExportedKeys(catalog, schema, "t"), "FKTABLE_NAME", "FK_NAME").replace("c owned c owned", "c owned"), "c owned");
        Place.same("indexes", all(m.getIndexInfo(catalog, schema, "c", false, false), "INDEX_NAME", "COLUMN_NAME", "NON_UNIQUE").replace("true", "1").replace("false", "0"), "PRIMARY id 0 k t_id 1 k id 1");
        if (!all(schema == null ? m.getCatalogs() : m.getSchemas(), schema == null ? "TABLE_CAT" : "TABLE_SCHEM").contains(Place.DATABASE)) {
            throw new IllegalStateException("the database is not listed");
        }
        all(m.getTypeInfo(), "TYPE_NAME");
        all(m.getProcedures(catalog, schema, "%"), "PROCEDURE_NAME");
        all(m.getFunctions(catalog, schema, "%"), "FUNCTION_NAME");
        all(m.getBestRowIdentifier(catalog, schema, "t", 1, true), "COLUMN_NAME");
        all(m.getTablePrivileges(catalog, schema, "t"), "PRIVILEGE");
        all(m.getTableTypes(), "TABLE_TYPE");
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT t.*, price * 2 AS twice, COUNT(*) OVER_ALL FROM t GROUP BY id")) {
            ResultSetMetaData d = r.getMetaData();
            Place.same("types", d.getColumnTypeName(1) + " " + d.getColumnTypeName(2) + " " + d.getPrecision(2) + " " + d.getScale(3) + " " + d.isNullable(2) + " " + d.isAutoIncrement(1) + " " + d.getTableName(1) + " " + d.getColumnLabel(17), "BIGINT UNSIGNED VARCHAR 30 2 0 true t twice");
        }
    }
}
