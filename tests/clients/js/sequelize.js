// Sequelize: sync, its query interface, relations, errors of its own classes.
const { place, need, run, refused, assert } = require("./place");
const { Sequelize, DataTypes, Op, UniqueConstraintError, ForeignKeyConstraintError, DatabaseError } = need("sequelize");

run(async () => {
  const db = new Sequelize(place.database, place.user, place.password, { host: place.host, port: place.port, dialect: "mysql", logging: false });
  await db.authenticate();
  const User = db.define("user", { name: { type: DataTypes.STRING(40), unique: true, allowNull: false }, doc: DataTypes.JSON, born: DataTypes.DATEONLY });
  const Item = db.define("item", {
    id: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4, primaryKey: true }, name: { type: DataTypes.STRING, comment: "it's a name" },
    price: { type: DataTypes.DECIMAL(10, 2), defaultValue: 0 }, kind: DataTypes.ENUM("a", "b"), raw: DataTypes.BLOB("long"), at: DataTypes.DATE(6), big: DataTypes.BIGINT.UNSIGNED, on: DataTypes.BOOLEAN,
  }, { indexes: [{ fields: ["name", { name: "price", order: "DESC" }], name: "by_name" }], paranoid: true, version: true });
  const Tag = db.define("tag", { word: DataTypes.STRING(20) });
  User.hasMany(Item, { foreignKey: { allowNull: false }, onDelete: "CASCADE" });
  Item.belongsTo(User);
  Item.belongsToMany(Tag, { through: "item_tag" });
  Tag.belongsToMany(Item, { through: "item_tag" });
  await db.sync({ force: true });
  await db.sync({ alter: true });

  const ann = await User.create({ name: "ann", doc: { a: { b: 1 } }, born: "2000-02-29" });
  const items = await Item.bulkCreate([...Array(12).keys()].map((n) => ({ name: "i" + n, price: n / 4, userId: ann.id, kind: n % 2 ? "a" : "b", raw: Buffer.from([n, 0]), big: "18446744073709551615", on: true })));
  const tag = await Tag.create({ word: "red" });
  await items[3].setTags([tag]);
  const found = await Item.findAndCountAll({ where: { price: { [Op.gte]: 1 }, [Op.or]: [{ kind: "a" }, { name: { [Op.like]: "i1%" } }] }, include: [User, Tag], order: [["name", "ASC"]], limit: 3, distinct: true });
  assert.equal(found.count, 5);
  assert.equal((await User.findOne({ where: { doc: { a: { b: 1 } } }, include: { model: Item, required: true, where: { name: "i3" }, include: Tag } })).items[0].tags[0].word, "red");
  const sums = await Item.findAll({ attributes: ["kind", [db.fn("SUM", db.col("price")), "sum"], [db.fn("COUNT", "*"), "n"]], group: "kind", order: ["kind"], raw: true });
  assert.deepEqual(sums.map((s) => s.sum), ["9.00", "7.50"]);
  await Item.increment("price", { by: 2, where: { kind: "a" } });
  await User.upsert({ name: "ann", born: "2001-01-01" });
  assert.equal((await User.findOrCreate({ where: { name: "bob" } }))[1], true);
  await items[0].reload();
  await items[0].update({ name: "changed" });
  await items[1].reload();
  await items[1].destroy();
  assert.equal(await Item.count(), 11);
  await items[1].restore();
  await db.transaction({ isolationLevel: "READ COMMITTED" }, async (t) => {
    await Item.findOne({ where: { name: "i5" }, lock: t.LOCK.UPDATE, skipLocked: true, transaction: t });
    await Item.destroy({ where: {}, force: true, transaction: t });
    throw new Error("back");
  }).catch((e) => assert.equal(e.message, "back"));
  assert.equal(await Item.count(), 12);
  await refused(() => User.create({ name: "ann" }), (e) => e instanceof UniqueConstraintError && e.fields.name !== undefined || "users.name" in e.fields);
  await refused(() => Item.create({ userId: 99 }), (e) => e instanceof ForeignKeyConstraintError && e.table === "users");
  await refused(() => db.query("SELECT * FROM nope"), (e) => e instanceof DatabaseError);

  const q = db.getQueryInterface();
  assert.deepEqual((await q.showAllTables()).map((t) => t.tableName || t).sort(), ["item_tag", "items", "tags", "users"]);
  const columns = await q.describeTable("items");
  assert.equal(columns.name.comment, "it's a name");
  assert((await q.showIndex("items")).some((i) => i.name === "by_name" && i.fields[1].attribute === "price"));
  assert.equal((await q.getForeignKeyReferencesForTable("items"))[0].referencedTableName, "users");
  await q.addColumn("items", "extra", { type: DataTypes.INTEGER, allowNull: false, defaultValue: 4 });
  await q.changeColumn("items", "extra", { type: DataTypes.BIGINT });
  await q.renameColumn("items", "extra", "more");
  await q.addIndex("items", ["more"], { unique: false, name: "by_more" });
  await q.removeIndex("items", "by_more");
  await q.addConstraint("tags", { fields: ["word"], type: "unique", name: "one_word" });
  await q.removeConstraint("tags", "one_word");
  await q.removeColumn("items", "userId");
  await q.renameTable("tags", "labels");
  await q.renameTable("labels", "tags");
  await q.dropAllTables();
  await db.close();
});
