"""mydumper and myloader as they come, with the lock that they take; `cargo xtask dumps` has every type."""
import os
import subprocess
import sys
import tempfile

import pymysql
from place import DATABASE, HOST, PASSWORD, PORT, USER

conn = pymysql.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE, autocommit=True)
cur = conn.cursor()
cur.execute("CREATE TABLE a (id INT PRIMARY KEY, name VARCHAR(20), UNIQUE (name))")
cur.execute("CREATE TABLE b (id INT PRIMARY KEY AUTO_INCREMENT, a_id INT, FOREIGN KEY (a_id) REFERENCES a (id))")
cur.executemany("INSERT INTO a VALUES (%s, %s)", [(n, f"n{n}") for n in range(100)])
cur.executemany("INSERT INTO b (a_id) VALUES (%s)", [(n,) for n in range(50)])


def run(*command):
    place = ["--host", HOST, "--port", str(PORT), "--user", USER, "--password", PASSWORD]
    done = subprocess.run([command[0], *place, *command[1:]], capture_output=True, text=True)
    said = done.stdout + done.stderr
    bad = [line for line in said.splitlines() if "CRITICAL" in line or "ERROR" in line.upper()]
    if done.returncode or bad:
        sys.exit((bad or said.splitlines() or [f"{command[0]} failed"])[0])


os.chdir(tempfile.mkdtemp())
run("mydumper", "--database", DATABASE, "--outputdir", "dump", "--trx-consistency-only", *sys.argv[1:])
run("mydumper", "--database", DATABASE, "--outputdir", "locked", *sys.argv[1:])
run("myloader", "--database", f"{DATABASE}_back", "--directory", "locked")
cur.execute(f"SELECT COUNT(*), SUM(a.id) FROM `{DATABASE}_back`.a LEFT JOIN `{DATABASE}_back`.b ON b.a_id = a.id")
assert cur.fetchall() == ((100, 4950),)
cur.execute(f"DROP DATABASE `{DATABASE}_back`")
