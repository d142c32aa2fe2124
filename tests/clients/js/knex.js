// Knex: migrations forth and back, the query builder, errors, what it reads of the schema.
const { place, need, run, refused, assert } = require("./place");
const knex = need("knex")({ client: "mysql2", connection: place, pool: { min: 1, max: 4 } });

const steps = {
  "1_first": {
    up: (k) => k.schema
      .createTable("users", (t) => { t.increments(); t.string("email", 100).notNullable().unique(); t.json("doc"); t.timestamps(true, true); t.comment("people"); })
      .createTable("orders", (t) => {
        t.bigIncrements("id"); t.integer("user_id").unsigned().references("id").inTable("users").onDelete("CASCADE");
        t.decimal("total", 10, 2).notNullable().defaultTo(0); t.enu("state", ["new", "paid"]).defaultTo("new"); t.text("note"); t.uuid("uid"); t.boolean("open").defaultTo(true);
        t.datetime("at", { precision: 6 }).defaultTo(k.fn.now(6)); t.index(["state", "total"], "by_state"); t.double("weight"); t.binary("raw");
      }),
    down: (k) => k.schema.dropTable("orders").dropTable("users"),
  },
  "2_second": {
    up: (k) => k.schema.alterTable("orders", (t) => { t.renameColumn("note", "remark"); t.string("code", 20).nullable().after("id"); t.dropIndex([], "by_state"); t.decimal("total", 14, 4).notNullable().defaultTo(1).alter(); t.unique(["code"]); t.dropColumn("uid"); })
      .alterTable("orders", (t) => { t.dropForeign("user_id"); t.foreign("user_id").references("users.id"); t.check("total >= 0", [], "not_negative"); }).renameTable("orders", "sales"),
    down: (k) => k.schema.renameTable("sales", "orders").alterTable("orders", (t) => { t.dropChecks("not_negative"); t.dropUnique(["code"]); t.dropColumn("code"); t.renameColumn("remark", "note"); t.uuid("uid"); t.index(["state", "total"], "by_state"); }),
  },
};
const migrationSource = { getMigrations: async () => Object.keys(steps), getMigrationName: (n) => n, getMigration: async (n) => steps[n] };

run(async () => {
  await knex.migrate.latest({ migrationSource });
  await knex.migrate.rollback({ migrationSource }, true);
  await knex.migrate.up({ migrationSource });
  await knex.migrate.latest({ migrationSource });
  assert(await knex.schema.hasTable("sales") && await knex.schema.hasColumn("sales", "code"));
  const [ann] = await knex("users").insert({ email: "ann", doc: JSON.stringify({ a: 1 }) });
  await knex.batchInsert("sales", [...Array(50).keys()].map((n) => ({ user_id: ann, total: n / 4, code: "c" + n })), 20);
  const rows = await knex("users as u").leftJoin("sales as s", "s.user_id", "u.id").groupBy("u.id").select("u.email", knex.raw("COUNT(s.id) n")).sum("s.total as sum");
  assert.deepEqual([rows[0].n, rows[0].sum], [50, "306.2500"]);
  assert.equal((await knex.with("top", knex("sales").max("total as m")).select("s.code").from("sales as s").join("top", "top.m", "s.total"))[0].code, "c49");
  await knex("users").insert({ email: "ann", doc: "{}" }).onConflict("email").merge();
  await knex("users").insert({ email: "ann" }).onConflict().ignore();
  assert.equal(await knex("sales").where("total", "<", 1).increment("total", 5), 4);
  await knex.transaction(async (t) => {
    assert.equal((await t("sales").where({ code: "c9" }).forUpdate().noWait().select("id")).length, 1);
    await t.transaction(async (inner) => { await inner("sales").delete(); throw new Error("back"); }).catch(() => {});
  });
  assert.equal((await knex("sales").count("* as n"))[0].n, 50);
  await refused(() => knex("users").insert({ email: "ann" }), (e) => e.code === "ER_DUP_ENTRY");
  await refused(() => knex("sales").insert({ user_id: 77, total: 1 }), (e) => e.code === "ER_NO_REFERENCED_ROW_2");
  await refused(() => knex("sales").insert({ user_id: ann, total: -1 }), (e) => [3819, 4025].includes(e.errno));
  const info = await knex("sales").columnInfo();
  assert.equal(info.code.maxLength, 20);
  await knex.migrate.rollback({ migrationSource }, true);
  await knex.schema.dropTable("knex_migrations").dropTable("knex_migrations_lock");
  await knex.destroy();
});
