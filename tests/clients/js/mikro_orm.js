// MikroORM: the schema generator and its comparison with what is there, the unit of work, errors.
const { place, isMariaDb, need, run, refused, assert } = require("./place");
const { MikroORM, EntitySchema, UniqueConstraintViolationException, ForeignKeyConstraintViolationException, NotNullConstraintViolationException, TableNotFoundException, LockMode } = need(isMariaDb ? "@mikro-orm/mariadb" : "@mikro-orm/mysql");

const entities = (length) => {
  const Author = new EntitySchema({ name: "Author", properties: { id: { type: "number", primary: true, autoincrement: true }, name: { type: "string", length, unique: true }, doc: { type: "json", nullable: true }, born: { type: "date", nullable: true }, made: { type: "Date", defaultRaw: "now()" }, books: { kind: "1:m", entity: "Book", mappedBy: "author" } } });
  const Book = new EntitySchema({ name: "Book", indexes: [{ properties: ["title", "price"], name: "by_title" }], checks: [{ name: "not_negative", expression: "price >= 0" }], properties: { id: { type: "bigint", primary: true }, title: { type: "string" }, price: { type: "decimal", precision: 10, scale: 2 }, kind: { enum: true, items: ["a", "b"], nullable: true }, text: { type: "text", nullable: true }, author: { kind: "m:1", entity: "Author", deleteRule: "cascade" }, tags: { kind: "m:n", entity: "Tag", owner: true }, version: { type: "number", version: true } } });
  const Tag = new EntitySchema({ name: "Tag", properties: { id: { type: "number", primary: true }, word: { type: "string", length: 20, comment: "a word" } } });
  return [Author, Book, Tag];
};

run(async () => {
  const options = { dbName: place.database, host: place.host, port: place.port, user: place.user, password: place.password, debug: false };
  let orm = await MikroORM.init({ ...options, entities: entities(40) });
  await orm.schema.refreshDatabase();
  await orm.close();
  orm = await MikroORM.init({ ...options, entities: entities(60) });
  await orm.schema.updateSchema();
  assert.equal((await orm.schema.getUpdateSchemaSQL()).trim(), "");
  let em = orm.em.fork();
  const ann = em.create("Author", { name: "ann", doc: { a: [1] }, born: "2000-02-29" });
  const red = em.create("Tag", { word: "red" });
  for (let n = 0; n < 10; n++) { const b = em.create("Book", { title: "b" + n, price: n / 4, author: ann }); if (n % 2) b.tags.add(red); }
  await em.flush();
  em = orm.em.fork();
  const books = await em.find("Book", { author: { name: "ann" }, price: { $gt: 1 }, tags: { word: "red" } }, { populate: ["author", "tags"], orderBy: { title: "desc" }, limit: 2 });
  assert.deepEqual(books.map((b) => b.title), ["b9", "b7"]);
  assert.deepEqual((await em.findOne("Author", { name: "ann" })).doc, { a: [1] });
  books[0].price = "7.00";
  await em.flush();
  const [sum] = await em.getConnection().execute("select count(*) as n, sum(price) as s from book");
  assert.deepEqual([sum.n, sum.s], [10, "16.00"]);
  await em.upsert("Author", { name: "ann", doc: { a: 2 } });
  await em.transactional(async (t) => { await t.findOne("Book", { title: "b1" }, { lockMode: LockMode.PESSIMISTIC_WRITE }); await t.nativeDelete("Book", {}); throw new Error("back"); }).catch((e) => assert.equal(e.message, "back"));
  assert.equal(await em.count("Book"), 10);
  await refused(() => orm.em.fork().insert("Author", { name: "ann" }), (e) => e instanceof UniqueConstraintViolationException);
  await refused(() => orm.em.fork().insert("Book", { title: "x", price: 1, author: 99 }), (e) => e instanceof ForeignKeyConstraintViolationException);
  await refused(() => em.getConnection().execute("insert into author (name) values (null)"), (e) => e.errno === 1048);
  await refused(() => em.getDriver().execute("select * from nope"), (e) => e instanceof TableNotFoundException);
  assert.equal(await orm.em.fork().nativeDelete("Author", { name: "ann" }), 1);
  assert.equal(await orm.em.fork().count("Book"), 0);
  await orm.schema.dropSchema();
  await orm.close();
});
