"""TPC-DS by DuckDB, for `cargo xtask lab tpcds`: its tables' columns, its queries, and its answers to what is asked.

    judge.py read MADE OUT      rows as MADE has them into OUT: a file a table, columns.json, queries.json
    judge.py answer OUT         the answers to the texts of OUT/asked.json, into OUT/answers.json

NULL is less than every value, as MySQL has it.
"""

import glob
import json
import os
import sys

import duckdb
import duckdb_extension_tpcds

ROWS = r"(FORMAT csv, DELIMITER '|', HEADER false, NULL '\N', QUOTE '', ESCAPE '')"


def opened():
    packages = os.path.dirname(duckdb_extension_tpcds.__file__)
    (extension,) = glob.glob(packages + "/extensions/*/tpcds.duckdb_extension")
    duck = duckdb.connect()
    duck.execute(f"LOAD '{extension}'")
    duck.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    # The tables without a row.
    duck.execute("CALL dsdgen(sf = 0)")
    return duck


def tables(duck):
    names = "SELECT table_name FROM duckdb_tables() ORDER BY 1"
    columns = "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index"
    return {t: duck.execute(columns, [t]).fetchall() for (t,) in duck.execute(names).fetchall()}


def read(made, out):
    duck = opened()
    told = {}
    for table, columns in tables(duck).items():
        # Each line ends with a divider, behind which there is nothing.
        types = dict(columns) | {"behind_the_end": "VARCHAR"}
        names = ", ".join(name for name, _ in columns)
        duck.execute(
            f"INSERT INTO {table} SELECT {names} FROM read_csv('{made}/{table}.dat', delim = '|', header = false, "
            f"quote = '', escape = '', nullstr = '', null_padding = true, columns = {types})"
        )
        duck.execute(f"COPY {table} TO '{out}/{table}.tbl' {ROWS}")
        widths = ", ".join(f"coalesce(max(length({name}::VARCHAR)), 1)" for name, _ in columns)
        widths = duck.execute(f"SELECT {widths} FROM {table}").fetchone()
        told[table] = [[name, kind, width] for (name, kind), width in zip(columns, widths)]
    queries = []
    for number, text in duck.execute("SELECT query_nr, query FROM tpcds_queries() ORDER BY 1").fetchall():
        text = text.strip().rstrip(";")
        columns = len(duck.execute(f"DESCRIBE {text}").fetchall())
        queries.append({"number": number, "text": text, "columns": columns})
    written(f"{out}/columns.json", told)
    written(f"{out}/queries.json", queries)


def answer(out):
    duck = opened()
    for table in tables(duck):
        duck.execute(f"COPY {table} FROM '{out}/{table}.tbl' {ROWS}")
    answers = {}
    with open(f"{out}/asked.json", encoding="utf-8") as file:
        asked = json.load(file)
    for name, text in asked:
        rows = duck.execute(text).fetchall()
        answers[name] = {
            "columns": [column[0] for column in duck.description],
            "rows": [[None if cell is None else str(cell) for cell in row] for row in rows],
        }
    written(f"{out}/answers.json", answers)


def written(path, what):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(what, file)


{"read": read, "answer": answer}[sys.argv[1]](*sys.argv[2:])
