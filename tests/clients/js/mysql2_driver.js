// mysql2 and mysql: text and binary protocol, pools, types, streams.
const { place, oldPlace, need, run, refused, assert } = require("./place");
const mysql = need("mysql2/promise");
const old = need("mysql");

run(async () => {
  const pool = mysql.createPool({ ...place, connectionLimit: 4, supportBigNumbers: true, namedPlaceholders: true, timezone: "Z" });
  await pool.query("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30) UNIQUE, price DECIMAL(10,2), at DATETIME(3), d DATE, big BIGINT, doc JSON, raw BLOB, yes TINYINT(1), bits BIT(4), took TIME)");
  const at = new Date("2024-02-29T01:02:03.456Z");
  const [r] = await pool.execute("INSERT INTO t (name, price, at, d, big, doc, raw, yes, bits, took) VALUES (?,?,?,?,?,?,?,?,?,?)",
    ["rope", "12.50", at, "2024-02-29", "9007199254740993", JSON.stringify({ a: [1] }), Buffer.from([0, 255]), 1, 5, "-30:00:01"]);
  assert.equal(r.insertId, 1);
  for (const ask of ["query", "execute"]) {
    const [[row], fields] = await pool[ask]("SELECT * FROM t WHERE id = ?", [1]);
    assert.deepEqual([row.name, row.price, row.at.getTime(), row.big, row.doc, [...row.raw], row.yes, [...row.bits], row.took],
      ["rope", "12.50", at.getTime(), "9007199254740993", { a: [1] }, [0, 255], 1, [5], "-30:00:01"]);
    assert.equal(fields.length, 11);
  }
  const [[named]] = await pool.execute("SELECT :a + 1 AS x, :b AS y", { a: 1, b: "z" });
  assert.equal(named.y, "z");
  await pool.query("INSERT INTO t (name, price) VALUES ?", [[...Array(1000).keys()].map((n) => ["n" + n, n])]);
  await refused(() => pool.query("INSERT INTO t (name) VALUES ('rope')"), (e) => e.code === "ER_DUP_ENTRY" && e.sqlState === "23000");
  await refused(() => pool.query("SELEC"), (e) => e.code === "ER_PARSE_ERROR");
  await refused(() => pool.query("SELECT * FROM nope"), (e) => e.code === "ER_NO_SUCH_TABLE");
  const c = await pool.getConnection();
  await c.beginTransaction();
  await c.execute("DELETE FROM t WHERE id > ?", [1]);
  await c.rollback();
  await c.changeUser({ user: place.user, password: place.password, database: place.database });
  await c.ping();
  c.release();
  let seen = 0;
  const raw = require("util").promisify;
  await new Promise((done, failed) => {
    const one = need("mysql2").createConnection(place);
    one.query("SELECT * FROM t").stream().on("data", () => seen++).on("error", failed).on("end", () => one.end(done));
  });
  assert.equal(seen, 1001);
  const many = await mysql.createConnection({ ...place, multipleStatements: true, compress: true });
  const [sets] = await many.query("SELECT 1 a; SELECT COUNT(*) n FROM t; SET @x = 3");
  assert.equal(sets[1][0].n, 1001);
  await many.end();
  const first = old.createConnection(oldPlace);
  const asked = raw(first.query.bind(first));
  assert.equal((await asked("SELECT name FROM ?? WHERE price > ? ORDER BY price LIMIT 1", ["t", 997]))[0].name, "n998");
  first.end();
  await pool.query("DROP TABLE t");
  await pool.end();
});
