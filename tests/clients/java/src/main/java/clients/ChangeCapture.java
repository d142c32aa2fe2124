package clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

/** Debezium copies two tables, follows the binary log, is ended and goes on where it was; then it has the rows that SELECT gives. */
final class ChangeCapture {
    /** How a row is asked for, column by column as Debezium gives it below. */
    private static final String PEOPLE =
        "SELECT id, name, CAST(balance AS CHAR), kind, flags, CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', at) AS CHAR),"
            + " HEX(raw), note, CAST(big AS CHAR), CAST(DATEDIFF(day, '1970-01-01') AS CHAR), CAST(tiny AS CHAR)";
    private static final List<String> COLUMNS =
        List.of("id", "name", "balance", "kind", "flags", "at", "raw", "note", "big", "day", "tiny");

    private final ObjectMapper json = new ObjectMapper();
    private final Map<Long, Map<String, String>> people = new ConcurrentHashMap<>();
    private final Map<String, Integer> operations = new ConcurrentHashMap<>();
    private final List<String> definitions = new ArrayList<>();
    private final AtomicReference<Throwable> failed = new AtomicReference<>();
    private volatile long mark = -1;
    private DebeziumEngine<ChangeEvent<String, String>> engine;
    private ExecutorService thread;

    static void run() throws Exception {
        if (Place.MARIADB) {
            throw new IllegalStateException("Debezium has another connector for MariaDB");
        }
        try (Connection c = DriverManager.getConnection(Place.url("mysql", "allowPublicKeyRetrieval=true&sslMode=PREFERRED&connectionTimeZone=UTC"), Place.USER, Place.PASSWORD)) {
            new ChangeCapture().capture(c);
        }
    }

    private void capture(Connection c) throws Exception {
        try (Statement s = c.createStatement()) {
            s.execute("CREATE TABLE people (id BIGINT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(60) NOT NULL, balance DECIMAL(20,4), kind ENUM('x','ü'),"
                + " flags SET('a','b','c'), at DATETIME(6), raw VARBINARY(20), note MEDIUMTEXT, big BIGINT UNSIGNED, day DATE, tiny TINYINT UNSIGNED)");
            s.execute("CREATE TABLE marks (n INT PRIMARY KEY)");
            for (int i = 0; i < 300; i++) {
                insert(s, i);
            }
            begin();
            // A mark that is put earlier may be copied itself, before the rows are.
            until(() -> operations.getOrDefault("r", 0) == 300, "300 rows");
            reached(s, 1);
            compare(s, "copied");
            Place.same("rows read", operations.getOrDefault("r", 0), 300);
            for (int i = 0; i < 300; i++) {
                insert(s, i);
                s.execute("UPDATE people SET balance = -balance, name = CONCAT('n', id), kind = IF(id % 2, NULL, 'ü'), big = big - 1 WHERE id = " + (i + 1));
                if (i % 3 == 0) {
                    s.execute("DELETE FROM people WHERE id = " + (i + 20));
                }
            }
            c.setAutoCommit(false);
            s.execute("UPDATE people SET note = REPEAT('é', 70000), tiny = 255 - tiny");
            s.execute("DELETE FROM people ORDER BY id LIMIT 5");
            c.commit();
            s.execute("DELETE FROM people");
            c.rollback();
            c.setAutoCommit(true);
            reached(s, 2);
            compare(s, "followed");
            s.execute("ALTER TABLE people ADD COLUMN extra INT NOT NULL DEFAULT 5 FIRST");
            s.execute("UPDATE people SET extra = id WHERE id % 2 = 0");
            reached(s, 3);
            compare(s, "altered");
            for (var row : people.values()) {
                long id = Long.parseLong(row.get("id"));
                Place.same("the new column of " + id, row.get("extra"), id % 2 == 0 ? id : null);
            }
            if (definitions.stream().noneMatch(d -> d.contains("ADD COLUMN extra"))) {
                throw new IllegalStateException("the ALTER is not among " + definitions);
            }
            // What is done while it is not there is read from where it was.
            end();
            int read = operations.get("r");
            for (int i = 0; i < 100; i++) {
                s.execute("UPDATE people SET tiny = " + i + " WHERE id = " + (100 + i));
            }
            s.execute("FLUSH BINARY LOGS");
            s.execute("DELETE FROM people WHERE id % 7 = 0");
            begin();
            reached(s, 4);
            compare(s, "went on");
            Place.same("rows read", operations.get("r"), read);
            end();
        }
    }

    private static void insert(Statement s, int i) throws Exception {
        s.execute("INSERT INTO people (name, balance, kind, flags, at, raw, note, big, day, tiny) VALUES ('größe " + i + "', " + i + ".0625, 'x', 'a,c',"
            + " '2024-02-29 23:59:59.000" + String.format("%03d", i) + "', x'00ff" + String.format("%02x", i % 256) + "', " + (i % 5 == 0 ? "NULL" : "'text " + i + "'")
            + ", 9223372036854775807 - " + i + ", '1969-12-31' + INTERVAL " + i + " DAY, " + i % 256 + ")");
    }

    private void begin() {
        Properties p = new Properties();
        p.setProperty("name", "clients");
        p.setProperty("connector.class", "io.debezium.connector.mysql.MySqlConnector");
        p.setProperty("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore");
        p.setProperty("offset.storage.file.filename", Path.of("offsets").toAbsolutePath().toString());
        p.setProperty("offset.flush.interval.ms", "0");
        p.setProperty("schema.history.internal", "io.debezium.storage.file.history.FileSchemaHistory");
        p.setProperty("schema.history.internal.file.filename", Path.of("history").toAbsolutePath().toString());
        p.setProperty("topic.prefix", "clients");
        p.setProperty("database.hostname", System.getenv("CLIENTS_HOST"));
        p.setProperty("database.port", System.getenv("CLIENTS_PORT"));
        p.setProperty("database.user", Place.USER);
        p.setProperty("database.password", Place.PASSWORD);
        p.setProperty("database.server.id", "4714");
        p.setProperty("database.include.list", Place.DATABASE);
        p.setProperty("snapshot.mode", "initial");
        p.setProperty("decimal.handling.mode", "string");
        p.setProperty("binary.handling.mode", "hex");
        p.setProperty("key.converter.schemas.enable", "false");
        p.setProperty("value.converter.schemas.enable", "false");
        engine = DebeziumEngine.create(Json.class)
            .using(p)
            .using((success, message, error) -> {
                if (!success) {
                    failed.set(error != null ? error : new IllegalStateException(message));
                }
            })
            .notifying(this::told)
            .build();
        thread = Executors.newSingleThreadExecutor();
        thread.execute(engine);
    }

    private void end() throws Exception {
        engine.close();
        thread.shutdown();
        if (!thread.awaitTermination(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("it does not end");
        }
    }

    private void told(ChangeEvent<String, String> event) {
        try {
            if (event.value() == null) {
                // The tombstone behind a deletion.
                return;
            }
            JsonNode value = json.readTree(event.value());
            if (value.has("ddl")) {
                synchronized (definitions) {
                    definitions.add(value.get("ddl").asText());
                }
                return;
            }
            String table = value.path("source").path("table").asText();
            if (table.equals("marks")) {
                mark = value.path("after").path("n").asLong();
                return;
            }
            String op = value.path("op").asText();
            operations.merge(op, 1, Integer::sum);
            JsonNode before = value.path("before");
            JsonNode after = value.path("after");
            if (before.isObject() && people.remove(before.get("id").asLong()) == null) {
                throw new IllegalStateException(op + " of " + before.get("id") + ", which is not there");
            }
            if (after.isObject()) {
                Map<String, String> row = new TreeMap<>();
                after.fields().forEachRemaining(f -> row.put(f.getKey(), f.getValue().isNull() ? null : f.getValue().asText()));
                people.put(after.get("id").asLong(), row);
            }
        } catch (Throwable e) {
            failed.compareAndSet(null, e);
        }
    }

    /** Waits until Debezium has told of a row that is put now. */
    private void reached(Statement s, int n) throws Exception {
        s.execute("INSERT INTO marks VALUES (" + n + ")");
        until(() -> mark == n, "mark " + n);
    }

    private void until(BooleanSupplier there, String what) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(90);
        while (!there.getAsBoolean()) {
            Throwable why = failed.get();
            if (why != null) {
                throw new IllegalStateException(why.toString(), why);
            }
            if (System.nanoTime() > end) {
                throw new IllegalStateException("no " + what + "; " + operations);
            }
            Thread.sleep(20);
        }
    }

    private void compare(Statement s, String what) throws Exception {
        int rows = 0;
        try (ResultSet r = s.executeQuery(PEOPLE + " FROM people")) {
            while (r.next()) {
                rows++;
                Map<String, String> told = people.get(r.getLong(1));
                if (told == null) {
                    throw new IllegalStateException(what + ": no row " + r.getLong(1));
                }
                for (int i = 0; i < COLUMNS.size(); i++) {
                    String column = COLUMNS.get(i);
                    String got = told.get(column);
                    got = column.equals("raw") && got != null ? got.toUpperCase() : got;
                    Place.same(what + ": " + column + " of " + r.getLong(1), got, r.getString(i + 1));
                }
            }
        }
        Place.same(what + ": rows", people.size(), rows);
    }
}
