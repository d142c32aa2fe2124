// TypeORM: schema synchronisation, its query builder, migrations, errors.
const { place, isMariaDb, need, run, refused, assert } = require("./place");
need("reflect-metadata");
const { DataSource, EntitySchema, QueryFailedError, Table, TableColumn, TableForeignKey, TableIndex, TableUnique, LessThan } = need("typeorm");

const entities = (length, more) => [
  new EntitySchema({ name: "User", tableName: "users", columns: { id: { type: "int", primary: true, generated: true }, name: { type: "varchar", length, unique: true }, doc: { type: "json", nullable: true }, made: { type: "datetime", createDate: true, precision: 6 }, ...more }, relations: { posts: { type: "one-to-many", target: "Post", inverseSide: "user", cascade: true } } }),
  new EntitySchema({
    name: "Post", tableName: "posts",
    columns: { id: { type: "bigint", primary: true, generated: true }, title: { type: "varchar", comment: "the 'title'" }, body: { type: "longtext", nullable: true }, score: { type: "decimal", precision: 10, scale: 2, default: 0 }, kind: { type: "enum", enum: ["a", "b"], default: "a" }, open: { type: "boolean", default: true }, upper: { type: "varchar", asExpression: "UPPER(`title`)", generatedType: "STORED", nullable: true }, set: { type: "set", enum: ["x", "y"], nullable: true }, version: { type: "int", version: true } },
    relations: { user: { type: "many-to-one", target: "User", inverseSide: "posts", onDelete: "CASCADE", nullable: false }, tags: { type: "many-to-many", target: "Tag", joinTable: true } },
    indices: [{ name: "by_title", columns: ["title", "score"] }], uniques: [{ columns: ["title", "user"] }],
  }),
  new EntitySchema({ name: "Tag", tableName: "tags", columns: { id: { type: "bigint", primary: true, generated: true, unsigned: true }, word: { type: "varchar", length: 20 } } }),
];

class Step1700000000000 {
  name = "Step1700000000000";
  async up(q) {
    await q.createTable(new Table({ name: "made", columns: [{ name: "id", type: "int", isPrimary: true, isGenerated: true, generationStrategy: "increment" }, { name: "n", type: "int", isNullable: true }, { name: "user_id", type: "int" }] }));
    await q.addColumn("made", new TableColumn({ name: "t", type: "varchar", length: "10", default: "'x'" }));
    await q.changeColumn("made", "t", new TableColumn({ name: "t", type: "text", isNullable: true }));
    await q.renameColumn("made", "n", "m");
    await q.createIndex("made", new TableIndex({ name: "by_m", columnNames: ["m"] }));
    await q.createUniqueConstraint("made", new TableUnique({ name: "one_m", columnNames: ["m", "id"] })).catch(() => {});
    await q.createForeignKey("made", new TableForeignKey({ name: "to_user", columnNames: ["user_id"], referencedTableName: "users", referencedColumnNames: ["id"], onDelete: "CASCADE" }));
    await q.renameTable("made", "made2");
  }
  async down(q) {
    await q.dropForeignKey("made2", (await q.getTable("made2")).foreignKeys[0]);
    await q.dropIndex("made2", "by_m");
    await q.dropTable("made2");
  }
}

run(async () => {
  const options = { type: isMariaDb ? "mariadb" : "mysql", ...place, username: place.user, migrations: [Step1700000000000] };
  let db = await new DataSource({ ...options, entities: entities("40", {}), synchronize: true }).initialize();
  await db.destroy();
  db = await new DataSource({ ...options, entities: entities("60", { email: { type: "varchar", nullable: true, unique: true } }), synchronize: true }).initialize();
  assert.deepEqual((await db.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query), []);
  await db.runMigrations({ transaction: "each" });
  await db.undoLastMigration();
  const users = db.getRepository("User"), posts = db.getRepository("Post");
  const tag = await db.getRepository("Tag").save({ word: "red" });
  const ann = await users.save({ name: "ann", doc: { a: 1 }, posts: [...Array(10).keys()].map((n) => ({ title: "t" + n, score: n / 2, tags: n % 2 ? [tag] : [] })) });
  assert.equal(ann.posts.length, 10);
  const read = await posts.find({ where: { score: LessThan(2), user: { name: "ann" } }, relations: { user: true, tags: true }, order: { score: "DESC" }, take: 2, skip: 1 });
  assert.deepEqual(read.map((p) => [p.title, p.upper, p.tags.length]), [["t2", "T2", 0], ["t1", "T1", 1]]);
  const sums = await posts.createQueryBuilder("p").leftJoin("p.user", "u").select("u.name", "name").addSelect("SUM(p.score)", "s").addSelect("COUNT(*)", "n").groupBy("u.name").having("COUNT(*) > :k", { k: 1 }).getRawMany();
  assert.deepEqual(sums[0], { name: "ann", s: "22.50", n: "10" });
  await posts.increment({ title: "t1" }, "score", 3);
  await users.upsert([{ name: "ann", doc: { b: 2 } }], ["name"]);
  await db.transaction("SERIALIZABLE", async (m) => { await m.find("Post", { lock: { mode: "pessimistic_write" } }); await m.delete("User", { name: "ann" }); throw new Error("back"); }).catch((e) => assert.equal(e.message, "back"));
  assert.equal(await posts.count(), 10);
  await refused(() => users.insert({ name: "ann" }), (e) => e instanceof QueryFailedError && e.driverError.errno === 1062);
  await refused(() => posts.insert({ title: "x", user: { id: 99 } }), (e) => e.driverError.code === "ER_NO_REFERENCED_ROW_2");
  await users.delete({ name: "ann" });
  assert.equal(await posts.count(), 0);
  await db.dropDatabase();
  await db.destroy();
});
