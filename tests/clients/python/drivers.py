"""PyMySQL, mysqlclient and MySQL's own connector: the DB-API as applications use it."""
import datetime
import decimal
import sys

from place import DATABASE, HOST, PASSWORD, PORT, USER, raises

TABLE = """CREATE TABLE t (
    id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, price DECIMAL(10,2) CHECK (price >= 0),
    born DATE, at DATETIME(6), took TIME(3), seen TIMESTAMP NULL, y YEAR, raw VARBINARY(20), text TEXT, blobs LONGBLOB,
    kind ENUM('a','b'), flags SET('x','y'), bits BIT(9), f FLOAT, d DOUBLE, big BIGINT UNSIGNED, yes BOOLEAN, doc JSON)"""
ROW = ("rope", decimal.Decimal("12.50"), datetime.date(2024, 2, 29), datetime.datetime(2024, 1, 2, 3, 4, 5, 678901),
       datetime.timedelta(hours=-30, milliseconds=-250), datetime.datetime(2024, 1, 2, 3, 4, 5), 2024, b"\0\xff'\\",
       "naïve \U0001f600 'quoted' \\ %s", bytes(range(256)) * 300, "b", "x,y", 257, 0.5, 1e300, 2**64 - 1, True, '{"a": [1, 2]}')
COLUMNS = "name, price, born, at, took, seen, y, raw, text, blobs, kind, flags, bits, f, d, big, yes, doc"


def modules(which):
    if which == "pymysql":
        import pymysql
        return pymysql, dict(host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE, charset="utf8mb4")
    if which == "mysqlclient":
        import MySQLdb
        return MySQLdb, dict(host=HOST, port=PORT, user=USER, passwd=PASSWORD, db=DATABASE, charset="utf8mb4")
    import mysql.connector
    options = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE, charset="utf8mb4", collation="utf8mb4_general_ci")
    if which == "connector-pure":
        options["use_pure"] = True
    return mysql.connector, options


def plain(row):
    """A row with what each driver has for a type of its own made alike."""
    out = []
    for v in row:
        if isinstance(v, set):
            v = ",".join(sorted(v))
        if isinstance(v, (bytes, bytearray)):
            v = bytes(v)
        out.append(v)
    return out


def main(which):
    m, options = modules(which)
    conn = m.connect(**options)
    cur = conn.cursor()
    cur.execute("DROP TABLE IF EXISTS child")
    cur.execute("DROP TABLE IF EXISTS t")
    cur.execute(TABLE)
    cur.execute("CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, t_id INT NOT NULL, FOREIGN KEY (t_id) REFERENCES t (id) ON DELETE CASCADE)")

    marks = ", ".join(["%s"] * len(ROW))
    cur.execute(f"INSERT INTO t ({COLUMNS}) VALUES ({marks})", ROW)
    assert cur.lastrowid == 1 and cur.rowcount == 1
    conn.commit()
    cur.execute(f"SELECT {COLUMNS} FROM t WHERE name = %s", ("rope",))
    got = plain(cur.fetchone())
    cur.fetchall()
    for name, sent, back in zip(COLUMNS.split(", "), ROW, got):
        if name == "bits" and isinstance(back, bytes):
            back = int.from_bytes(back, "big")
        if name == "doc":
            import json
            back, sent = json.loads(back), json.loads(sent)
        assert back == sent, f"{name}: {back!r} for {sent!r}"
    names = [d[0] for d in cur.description]
    assert names == COLUMNS.split(", "), names

    cur.executemany("INSERT INTO t (name, price) VALUES (%s, %s)", [(f"n{i}", i) for i in range(500)])
    assert cur.rowcount == 500, cur.rowcount
    cur.executemany("INSERT INTO child (t_id) VALUES (%s)", [(i,) for i in range(1, 100)])
    conn.commit()

    e = raises(m.IntegrityError, lambda: cur.execute("INSERT INTO t (name) VALUES ('rope')"))
    assert e.args[0] == 1062 or e.errno == 1062
    raises(m.IntegrityError, lambda: cur.execute("INSERT INTO child (t_id) VALUES (99999)"))
    raises(m.IntegrityError, lambda: cur.execute("INSERT INTO t (name) VALUES (NULL)"))
    raises(m.DataError, lambda: cur.execute("INSERT INTO t (name) VALUES (REPEAT('x', 41))"))
    raises(m.ProgrammingError, lambda: cur.execute("SELEC 1"))
    raises(m.ProgrammingError, lambda: cur.execute("SELECT * FROM no_such_table"))
    conn.rollback()

    cur.execute("UPDATE t SET price = price + 1 WHERE price < %s", (100,))
    assert cur.rowcount == 101, cur.rowcount
    conn.rollback()
    cur.execute("SELECT SUM(price), COUNT(*), AVG(price) FROM t")
    total = cur.fetchall()[0]
    assert total[0] == decimal.Decimal("124762.50") and total[1] == 501, total
    cur.execute("SELECT c.id, t.name FROM child c JOIN t ON t.id = c.t_id WHERE t.name IN (%s, %s) ORDER BY c.id", ("rope", "n3"))
    assert [r[1] for r in cur.fetchall()] == ["rope", "n3"]
    cur.execute("DELETE FROM t WHERE id <= 50")
    cur.execute("SELECT COUNT(*) FROM child")
    assert cur.fetchall()[0][0] == 49
    conn.commit()
    cur.execute("ALTER TABLE t ADD COLUMN extra INT NOT NULL DEFAULT 7, ADD INDEX (price)")
    cur.execute("SELECT extra FROM t LIMIT 1")
    assert cur.fetchall()[0][0] == 7
    cur.execute("DROP TABLE child")
    cur.execute("DROP TABLE t")
    cur.close()
    conn.close()
    if which.startswith("connector"):
        prepared(m, options)


def prepared(m, options):
    conn = m.connect(**options)
    cur = conn.cursor(prepared=True)
    cur.execute("CREATE TABLE p (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20), price DECIMAL(10,2), at DATETIME(6))")
    for n in range(3):
        cur.execute("INSERT INTO p (name, price, at) VALUES (%s, %s, %s)", (f"p{n}", decimal.Decimal("1.25"), ROW[3]))
    cur.execute("SELECT name, price, at FROM p WHERE id > %s", (1,))
    assert cur.fetchall() == [("p1", decimal.Decimal("1.25"), ROW[3]), ("p2", decimal.Decimal("1.25"), ROW[3])]
    cur.execute("DROP TABLE p")
    conn.close()


main(sys.argv[1])
