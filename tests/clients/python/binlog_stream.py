"""python-mysql-replication: what a program that reads the binary log is sent, held against what SELECT says."""
import datetime
import json
import struct
import sys
import threading
import time

import pymysql
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.event import GtidEvent, HeartbeatLogEvent, MariadbGtidEvent, QueryEvent, RotateEvent, RowsQueryLogEvent, XidEvent
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

from place import DATABASE, HOST, PASSWORD, PORT, USER, raises
import os

OURS = os.environ["CLIENTS_KIND"] != "mariadb"
ROWS = [WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent]
SERVER = 4711

# A column of each type: its definition, and values as literals. Every row of the table has one of each; the last is NULL throughout.
KINDS = {
    "tiny": ("TINYINT", ["-128", "127", "0"]),
    "tiny_u": ("TINYINT UNSIGNED", ["255", "128", "0"]),
    "small": ("SMALLINT", ["-32768", "32767", "-1"]),
    "small_u": ("SMALLINT UNSIGNED", ["65535", "32768", "1"]),
    "medium": ("MEDIUMINT", ["-8388608", "8388607", "-1"]),
    "medium_u": ("MEDIUMINT UNSIGNED", ["16777215", "8388608", "1"]),
    "whole": ("INT", ["-2147483648", "2147483647", "-1"]),
    "whole_u": ("INT UNSIGNED", ["4294967295", "2147483648", "1"]),
    "big": ("BIGINT", ["-9223372036854775808", "9223372036854775807", "-1"]),
    "big_u": ("BIGINT UNSIGNED", ["18446744073709551615", "9223372036854775808", "1"]),
    "yes": ("BOOLEAN", ["TRUE", "FALSE", "TRUE"]),
    "dec_plain": ("DECIMAL(10,2)", ["12345678.90", "-0.01", "0"]),
    "dec_long": ("DECIMAL(65,30)", ["99999999999999999999999999999999999.999999999999999999999999999999", "-1.000000000000000000000000000001", "0.5"]),
    "dec_odd": ("DECIMAL(7,7)", ["0.9999999", "-0.1234567", "0.0000001"]),
    "dec_whole": ("DECIMAL(19,0) UNSIGNED", ["9999999999999999999", "1000000000", "999999999"]),
    "single": ("FLOAT", ["3.14", "-1e38", "1e-37"]),
    "doubled": ("DOUBLE", ["1e308", "-2.2250738585072014e-308", "0.1"]),
    "bits": ("BIT(13)", ["b'1010101010101'", "b'1'", "b'0'"]),
    "bits_all": ("BIT(64)", ["18446744073709551615", "1", "9223372036854775808"]),
    "bit_one": ("BIT(1)", ["b'1'", "b'0'", "b'1'"]),
    "born": ("DATE", ["'2024-02-29'", "'1000-01-01'", "'9999-12-31'"]),
    "at": ("DATETIME", ["'2024-02-29 23:59:59'", "'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'"]),
    "at_1": ("DATETIME(1)", ["'2024-02-29 23:59:59.9'", "'1000-01-01 00:00:00'", "'2000-01-01 00:00:00.1'"]),
    "at_4": ("DATETIME(4)", ["'2024-02-29 23:59:59.9999'", "'1969-12-31 00:00:00.0001'", "'2000-01-01'"]),
    "at_6": ("DATETIME(6)", ["'2024-02-29 23:59:59.999999'", "'1969-12-31 00:00:00.000001'", "'2000-01-01 12:00:00.5'"]),
    "seen": ("TIMESTAMP NULL", ["'2024-02-29 23:59:59'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"]),
    "seen_3": ("TIMESTAMP(3) NULL", ["'2024-02-29 23:59:59.123'", "'1970-01-01 00:00:01.001'", "'2038-01-19 03:14:07.5'"]),
    "seen_6": ("TIMESTAMP(6) NULL", ["'2024-02-29 23:59:59.123456'", "'1970-01-01 00:00:01.000001'", "'2038-01-19 03:14:07.999999'"]),
    "took": ("TIME", ["'-838:59:59'", "'838:59:59'", "'00:00:00'"]),
    "took_2": ("TIME(2)", ["'-12:34:56.78'", "'00:00:00.01'", "'-00:00:00.99'"]),
    "took_3": ("TIME(3)", ["'-12:34:56.789'", "'-00:00:00.001'", "'23:59:59.999'"]),
    "took_6": ("TIME(6)", ["'-12:34:56.000001'", "'-00:00:00.999999'", "'100:00:00.000001'"]),
    "y": ("YEAR", ["1901", "2155", "2024"]),
    "few": ("CHAR(5)", ["'ab'", "'äöü€'", "''"]),
    "many": ("CHAR(100)", ["REPEAT('ß', 100)", "'x'", "'y'"]),
    "chars": ("VARCHAR(30)", ["'plain'", "'naïve \U0001f600'", "''"]),
    "chars_long": ("VARCHAR(300)", ["REPEAT('é', 300)", "'x'", "REPEAT('z', 256)"]),
    "latin": ("VARCHAR(30) CHARACTER SET latin1", ["'é'", "'ÿ'", "'plain'"]),
    "plain_ascii": ("CHAR(10) CHARACTER SET ascii", ["'abc'", "'x'", "''"]),
    "two_bytes": ("VARCHAR(30) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin", ["'ж€'", "'x'", "''"]),
    "raw": ("BINARY(6)", ["x'00ff0a'", "'abcdef'", "x'000000000001'"]),
    "raws": ("VARBINARY(300)", ["x'00ff0d0a00'", "REPEAT(x'80', 300)", "''"]),
    "t_text": ("TINYTEXT", ["'ä'", "''", "'x'"]),
    "text_": ("TEXT", ["REPEAT('lång ', 2000)", "''", "'x'"]),
    "m_text": ("MEDIUMTEXT", ["REPEAT('m', 70000)", "''", "'x'"]),
    "l_text": ("LONGTEXT", ["REPEAT('€', 30000)", "''", "'x'"]),
    "t_blob": ("TINYBLOB", ["x'ff00'", "''", "'x'"]),
    "blob_": ("BLOB", ["REPEAT(x'00ff', 10000)", "''", "'x'"]),
    "m_blob": ("MEDIUMBLOB", ["REPEAT(x'ab', 200000)", "''", "'x'"]),
    "l_blob": ("LONGBLOB", ["REPEAT(x'cd', 300000)", "''", "'x'"]),
    "kind": ("ENUM('a','ü','c c','it''s')", ["'ü'", "'it''s'", "'a'"]),
    "flags": ("SET('x','y','ž','long one')", ["'x,ž'", "''", "'x,y,ž,long one'"]),
}
# MariaDB has no type of its own for it.
if OURS:
    KINDS["doc"] = ("JSON", [
        """'{"a": [1, -2, 2.5, "x", null, true, false], "ключ": {"b": 12345678901, "c": 18446744073709551615}, "": -32769}'""",
        "CONCAT('[', REPEAT('\"some text\",', 9000), '0]')", "'\"alone\"'"])


def settings():
    return dict(host=HOST, port=PORT, user=USER, password=PASSWORD, charset="utf8mb4")


def connect():
    conn = pymysql.connect(**settings(), database=DATABASE, autocommit=True)
    conn.cursor().execute("SET time_zone = '+00:00'")
    return conn


def ask(conn, sql):
    cur = conn.cursor()
    cur.execute(sql)
    return cur.fetchall()


def place(conn):
    """Where the binary log ends: a file and a position."""
    return ask(conn, "SHOW MASTER STATUS")[0][:2]


def reader(**more):
    more.setdefault("only_schemas", [DATABASE])
    more.setdefault("resume_stream", True)
    return BinLogStreamReader(connection_settings=settings(), server_id=SERVER, is_mariadb=False, enable_logging=False, verify_checksum=True, **more)


def since(where, **more):
    """All events from a place to the end."""
    stream = reader(log_file=where[0], log_pos=where[1], **more)
    events = list(stream)
    stream.close()
    return events


def document(value):
    """A JSON value whose texts the reader gives as bytes."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {document(k): document(v) for k, v in value.items()}
    return [document(v) for v in value] if isinstance(value, list) else value


def shown(name, value):
    """A value of SELECT as the reader gives it."""
    definition = KINDS[name][0]
    if value is None:
        return None
    if definition.startswith("BIT"):
        width = int(definition[4:-1])
        return format(int.from_bytes(value, "big"), f"0{width}b")
    if definition.startswith("SET"):
        return set(value.split(",")) if value else None
    if definition == "JSON":
        return json.loads(value)
    if definition.startswith("BINARY"):
        # Events have no zeros at the end of it, and the reader has fixed lengths for texts alone.
        return value.rstrip(b"\0")
    if definition.startswith("TIME(") and value < datetime.timedelta(0) and value.microseconds:
        # The reader adds the fraction of a negative time to the next whole second below it.
        return value - datetime.timedelta(microseconds=value.microseconds) + datetime.timedelta(microseconds=1000000 - value.microseconds)
    return value


def read(name, value):
    """A value of the reader as SELECT gives it."""
    definition = KINDS[name][0]
    if value is None:
        return None
    if definition == "FLOAT":
        return struct.pack("<f", value)
    if definition == "JSON":
        return document(value)
    if definition.startswith("SET"):
        return value or None
    if isinstance(value, str) and ("BLOB" in definition or "BINARY" in definition):
        # Bytes are given as a text where they could be one.
        return value.encode()
    return value


def same(what, row, selected):
    """Every column of a row that the reader has given is what was selected."""
    for name, value in row.items():
        if name == "id":
            assert value == selected["id"], (what, value, selected["id"])
            continue
        wanted = shown(name, selected[name])
        if wanted is not None and KINDS[name][0] == "FLOAT":
            wanted = struct.pack("<f", wanted)
        got = read(name, value)
        assert got == wanted and type(got) is type(wanted), f"{what}: {name}: {str(got)[:80]!r} for {str(wanted)[:80]!r}"


def table(conn):
    cur = conn.cursor()
    cur.execute("DROP TABLE IF EXISTS kinds")
    columns = ", ".join(f"{name} {definition}" for name, (definition, _) in KINDS.items())
    cur.execute(f"CREATE TABLE kinds (id INT PRIMARY KEY, {columns}) DEFAULT CHARSET=utf8mb4")
    return cur


def selected(conn):
    cur = conn.cursor(pymysql.cursors.DictCursor)
    # The shortest text of a FLOAT would be cut to six digits.
    columns = ", ".join(f"{n} + 0e0 AS {n}" if d == "FLOAT" else n for n, (d, _) in KINDS.items())
    cur.execute(f"SELECT id, {columns} FROM kinds")
    return {row["id"]: row for row in cur.fetchall()}


def literals(which):
    return [values[which] for _, values in KINDS.values()] if which is not None else ["NULL"] * len(KINDS)


def all_types(conn, image):
    """Every type: inserted, changed to other values and NULL, deleted, under one of the images."""
    cur = table(conn)
    cur.execute(f"SET SESSION binlog_row_image = '{image}'")
    where = place(conn)
    images = []
    for at, which in enumerate([0, 1, 2, None]):
        cur.execute(f"INSERT INTO kinds VALUES ({at}, {', '.join(literals(which))})")
    images.append(selected(conn))
    for at, which in enumerate([1, 2, None, 0]):
        sets = ", ".join(f"{n} = {v}" for n, v in zip(KINDS, literals(which)))
        cur.execute(f"UPDATE kinds SET {sets} WHERE id = {at}")
    images.append(selected(conn))
    cur.execute("UPDATE kinds SET whole = 77 WHERE id = 0")
    images.append(selected(conn))
    cur.execute("DELETE FROM kinds")
    events = since(where, only_events=ROWS, only_tables=["kinds"])
    rows = [(e, row) for e in events for row in e.rows]
    assert len(rows) == 4 + 4 + 1 + 4, len(rows)
    blobs = {n for n, (d, _) in KINDS.items() if d.endswith(("TEXT", "BLOB", "JSON"))}
    everything = {"id", *KINDS}

    def given(row):
        """The columns of which the image tells a value."""
        return {n: v for n, v in row.items() if n not in left_out}

    for e, row in rows[:4]:
        left_out = set()
        assert isinstance(e, WriteRowsEvent)
        same(f"{image} insert", row["values"], images[0][row["values"]["id"]])
    for e, row in rows[4:8]:
        assert isinstance(e, UpdateRowsEvent)
        key = row["before_values"]["id"]
        left_out = {"FULL": set(), "NOBLOB": blobs, "MINIMAL": everything - {"id"}}[image]
        same(f"{image} before", given(row["before_values"]), images[0][key])
        # The key did not change, and a minimal image has no more than what did.
        left_out = {"MINIMAL": {"id"}}.get(image, set())
        left_out |= {n for n in KINDS if image != "FULL" and images[0][key][n] == images[1][key][n]}
        same(f"{image} after", given(row["after_values"]), images[1][key])
    e, row = rows[8]
    if image == "MINIMAL":
        told = {n for n, v in row["after_values"].items() if v is not None}
        assert told == {"whole"} and row["after_values"]["whole"] == 77, told
        assert {n for n, v in row["before_values"].items() if v is not None} == {"id"}
        sources = row["after_none_sources"]
        assert sources["text_"] == "cols bitmap", sources["text_"]
    else:
        left_out = blobs if image == "NOBLOB" else set()
        same(f"{image} one column", given(row["after_values"]), images[2][0])
    for e, row in rows[9:]:
        assert isinstance(e, DeleteRowsEvent)
        left_out = {"FULL": set(), "NOBLOB": blobs, "MINIMAL": everything - {"id"}}[image]
        same(f"{image} delete", given(row["values"]), images[2][row["values"]["id"]])
    cur.execute("SET SESSION binlog_row_image = 'FULL'")


def statements_and_definitions(conn):
    """A transaction has the events that MySQL writes, and rows have the columns that their table had then."""
    cur = conn.cursor()
    where = place(conn)
    for sql in ["DROP TABLE IF EXISTS d", "CREATE TABLE d (a INT PRIMARY KEY, b VARCHAR(9))", "INSERT INTO d VALUES (1, 'x')",
                "ALTER TABLE d ADD COLUMN c DECIMAL(5,2) DEFAULT 1.25 FIRST, RENAME COLUMN b TO bb", "INSERT INTO d VALUES (2.5, 2, 'y')",
                "ALTER TABLE d DROP COLUMN bb", "UPDATE d SET c = 3 WHERE a = 1", "CREATE TABLE other (a INT PRIMARY KEY)",
                "SET SESSION binlog_%s = 1" % ("rows_query_log_events" if OURS else "annotate_row_events"), "BEGIN", "INSERT INTO other VALUES (5)", "DELETE FROM d WHERE a = 1",
                "COMMIT", "BEGIN", "INSERT INTO other VALUES (6)", "ROLLBACK", "TRUNCATE TABLE other", "RENAME TABLE other TO another", "DROP TABLE another"]:
        cur.execute(sql)
    events = since(where, only_events=ROWS, only_tables=["d"])
    assert [e.rows for e in events if isinstance(e, WriteRowsEvent)] == [
        [{"values": {"a": 1, "b": "x"}, "none_sources": {}}],
        [{"values": {"c": pymysql.converters.Decimal("2.50"), "a": 2, "bb": "y"}, "none_sources": {}}]], [e.rows for e in events]
    assert events[2].rows[0]["after_values"] == {"c": 3, "a": 1} and events[2].primary_key == "a", events[2].rows
    assert isinstance(events[3], DeleteRowsEvent) and len(events) == 4

    events = since(where)
    texts = [e.query for e in events if isinstance(e, QueryEvent)]
    for begin in ("CREATE TABLE d", "ALTER TABLE d ADD", "ALTER TABLE d DROP", "CREATE TABLE other", "TRUNCATE", "RENAME TABLE other", "DROP TABLE"):
        assert any(t.startswith(begin) for t in texts), (begin, texts)
    assert all(e.schema.decode() == DATABASE for e in events if isinstance(e, QueryEvent) and e.query != "BEGIN")
    if OURS:
        last = max(i for i, e in enumerate(events) if isinstance(e, DeleteRowsEvent))
        kinds = [type(e).__name__ for e in events[:last + 2]][-10:]
        assert kinds == ["GtidEvent", "QueryEvent", "RowsQueryLogEvent", "TableMapEvent", "WriteRowsEvent",
                         "RowsQueryLogEvent", "TableMapEvent", "DeleteRowsEvent", "XidEvent"][-len(kinds):] or kinds[1:] == [
                         "GtidEvent", "QueryEvent", "RowsQueryLogEvent", "TableMapEvent", "WriteRowsEvent",
                         "RowsQueryLogEvent", "TableMapEvent", "DeleteRowsEvent", "XidEvent"], kinds
        queries = [e.query for e in events if isinstance(e, RowsQueryLogEvent)]
        assert queries == ["INSERT INTO other VALUES (5)", "DELETE FROM d WHERE a = 1"], queries
        cur.execute("SET SESSION binlog_rows_query_log_events = 0")
    # Nothing of what was rolled back.
    assert not any(row["values"].get("a") == 6 for e in events if isinstance(e, WriteRowsEvent) for row in e.rows)


def by_gtid(conn):
    """What a reader has not done is what it is sent, over several files and after it was lost."""
    cur = conn.cursor()
    cur.execute("CREATE TABLE g (a INT PRIMARY KEY)")
    before = ask(conn, "SELECT @@GLOBAL.gtid_executed")[0][0]
    first = place(conn)
    for a in range(6):
        cur.execute(f"INSERT INTO g VALUES ({a})")
        if a in (1, 3):
            cur.execute("FLUSH BINARY LOGS")
    after = ask(conn, "SELECT @@GLOBAL.gtid_executed")[0][0]
    wanted = ask(conn, f"SELECT GTID_SUBTRACT('{after}', '{before}')")[0][0]

    def read_all(executed, **more):
        stream = reader(auto_position=executed, **more)
        events = list(stream)
        stream.close()
        return events

    events = read_all(before, only_events=[GtidEvent, *ROWS, RotateEvent])
    gtids = [e.gtid for e in events if isinstance(e, GtidEvent)]
    assert len(gtids) == len(set(gtids)) == 6
    assert ask(conn, f"SELECT GTID_SUBTRACT('{wanted}', '{','.join(gtids)}'), GTID_SUBTRACT('{','.join(gtids)}', '{wanted}')")[0] == ("", ""), gtids
    assert [row["values"]["a"] for e in events if isinstance(e, WriteRowsEvent) for row in e.rows] == list(range(6))
    # A hole in what it has is sent, and nothing else.
    have = f"{before},{gtids[0]},{gtids[2]},{gtids[5]}"
    events = read_all(have, only_events=[GtidEvent])
    assert [e.gtid for e in events] == [gtids[1], gtids[3], gtids[4]], [e.gtid for e in events]
    assert read_all(after, only_events=[GtidEvent]) == []
    # The same by file and position, which goes on in the next files.
    events = since(first, only_events=[*ROWS, RotateEvent])
    assert [row["values"]["a"] for e in events if isinstance(e, WriteRowsEvent) for row in e.rows] == list(range(6))
    names = {e.next_binlog for e in events if isinstance(e, RotateEvent)}
    assert names == {name for name, *_ in ask(conn, "SHOW BINARY LOGS") if name >= first[0]}, names

    files = [name for name, *_ in ask(conn, "SHOW BINARY LOGS")]
    size = dict((r[0], r[1]) for r in ask(conn, "SHOW BINARY LOGS"))[files[-1]]
    for bad in [(files[-1], size + 1), ("nosuch.000001", 4), (files[-1], 3)]:
        e = raises(pymysql.Error, lambda: since(bad))
        assert e.args[0] == 1236, (bad, e.args)
    # Transactions that nobody has any more.
    cur.execute(f"PURGE BINARY LOGS TO '{files[-1]}'")
    e = raises(pymysql.Error, lambda: read_all(before))
    assert e.args[0] == 1236 and "purged" in e.args[1], e.args


def blocking(conn):
    """A reader that waits is woken by a commit, gets heartbeats, is listed, and goes on after its connection was killed."""
    cur = conn.cursor()
    cur.execute("CREATE TABLE w (a INT PRIMARY KEY)")
    where = dict(auto_position=ask(conn, "SELECT @@GLOBAL.gtid_executed")[0][0]) if OURS else dict(zip(("log_file", "log_pos"), place(conn)))
    uuid = "11111111-2222-3333-4444-555555555555"
    seen, beats = [], []
    stream = reader(blocking=True, slave_heartbeat=0.2, slave_uuid=uuid, report_slave=("reader.example", "somebody", "", 3333),
                    only_events=[WriteRowsEvent, HeartbeatLogEvent], **where)

    def follow():
        for event in stream:
            if isinstance(event, HeartbeatLogEvent):
                beats.append(event)
                continue
            seen.extend(row["values"]["a"] for row in event.rows)
            if 99 in seen:
                return

    def until(test, what):
        end = time.monotonic() + 20
        while not test():
            assert time.monotonic() < end, what
            time.sleep(0.01)

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    cur.execute("INSERT INTO w VALUES (1)")
    until(lambda: seen == [1], f"the first row: {seen}")
    until(lambda: len(beats) >= 3, "heartbeats")
    dumps = "SELECT id, user, command, state FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"

    def listed():
        return [row for row in ask(conn, dumps) if row[1] == USER]

    [(number, _, command, state)] = listed()
    if OURS:
        assert command == "Binlog Dump GTID", command
        assert state == "Source has sent all binlog to replica; waiting for more updates", state
        assert ask(conn, "SHOW REPLICAS") == ((SERVER, "reader.example", 3333, ask(conn, "SELECT @@server_id")[0][0], uuid),), ask(conn, "SHOW REPLICAS")
        old = ask(conn, "SHOW SLAVE HOSTS")
        assert old == ask(conn, "SHOW REPLICAS"), old
    else:
        assert command == "Binlog Dump", command
    cur.execute(f"KILL {number}")
    until(lambda: all(row[0] != number for row in listed()), "it is still there")
    cur.execute("INSERT INTO w VALUES (2)")
    until(lambda: 2 in seen, f"the row after KILL: {seen}")
    cur.execute("FLUSH BINARY LOGS")
    cur.execute("INSERT INTO w VALUES (99)")
    follower.join(20)
    # By GTID it asks again for all that followed on where it began.
    again = [1] if OURS else []
    assert not follower.is_alive() and seen == [1, *again, 2, 99], seen
    stream.close()
    if OURS:
        until(lambda: ask(conn, "SHOW REPLICAS") == (), "it is still listed")


def without_names(conn):
    """With the short metadata, which is the default, columns have the names of information_schema, and a reader of before has none."""
    cur = conn.cursor()
    cur.execute("SET GLOBAL binlog_row_metadata = 'MINIMAL'")
    where = place(conn)
    cur.execute("CREATE TABLE plain (a INT PRIMARY KEY, b VARCHAR(300), c DECIMAL(8,3), d DATETIME(3), e BLOB)")
    cur.execute("INSERT INTO plain VALUES (2000000000, 'é', -1.5, '2024-01-02 03:04:05.678', 'AB')")
    expected = [2000000000, "é", pymysql.converters.Decimal("-1.500"), datetime.datetime(2024, 1, 2, 3, 4, 5, 678000), "AB"]
    [event] = since(where, only_events=ROWS)
    values = event.rows[0]["values"]
    assert list(values) == [f"UNKNOWN_COL{i}" for i in range(5)], values
    # Nothing says which columns are bytes: the reader takes all for texts in utf8.
    assert list(values.values()) == expected, values
    [event] = since(where, only_events=ROWS, use_column_name_cache=True)
    assert list(event.rows[0]["values"]) == list("abcde"), event.rows
    cur.execute("SET GLOBAL binlog_row_metadata = 'FULL'")


def many(conn):
    """A large transaction comes whole, in events of some size."""
    cur = conn.cursor()
    cur.execute("CREATE TABLE n (a INT PRIMARY KEY, b VARCHAR(200))")
    where = place(conn)
    cur.execute("BEGIN")
    for start in range(0, 20000, 1000):
        cur.execute("INSERT INTO n VALUES " + ", ".join(f"({a}, REPEAT('b', {a % 200}))" for a in range(start, start + 1000)))
    cur.execute("UPDATE n SET b = CONCAT(b, 'c') WHERE a % 100 = 0")
    cur.execute("COMMIT")
    events = since(where, only_events=[*ROWS, XidEvent])
    assert sum(isinstance(e, XidEvent) for e in events) == 1 and isinstance(events[-1], XidEvent)
    written = [row["values"] for e in events if isinstance(e, WriteRowsEvent) for row in e.rows]
    assert [(r["a"], len(r["b"])) for r in written] == [(a, a % 200) for a in range(20000)]
    assert sum(len(e.rows) for e in events if isinstance(e, UpdateRowsEvent)) == 200
    # MySQL's binlog_row_event_max_size: 8192.
    assert len(events) > 100, len(events)


def main():
    conn = connect()
    conn.cursor().execute("SET GLOBAL binlog_row_metadata = 'FULL'")
    # The variable is global, and a connection has it as it was when it began in MariaDB alone.
    conn = connect()
    for image in ("FULL", "MINIMAL", "NOBLOB"):
        all_types(conn, image)
    statements_and_definitions(conn)
    many(conn)
    without_names(conn)
    blocking(conn)
    if OURS:
        by_gtid(conn)
    conn.cursor().execute("SET GLOBAL binlog_row_metadata = DEFAULT")
    assert GtidEvent is not MariadbGtidEvent


if __name__ == "__main__":
    main()
