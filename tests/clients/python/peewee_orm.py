"""peewee: tables, joins, errors, its migrator, and models made from the database."""
import datetime

import peewee as pw
from place import DATABASE, HOST, PASSWORD, PORT, USER, raises
from playhouse.migrate import MySQLMigrator, migrate
from playhouse.reflection import generate_models

db = pw.MySQLDatabase(DATABASE, host=HOST, port=PORT, user=USER, password=PASSWORD, charset="utf8mb4")


class Base(pw.Model):
    class Meta:
        database = db


class Person(Base):
    name = pw.CharField(max_length=40, unique=True)
    born = pw.DateField(null=True)
    made = pw.DateTimeField(default=datetime.datetime.now)


class Pet(Base):
    owner = pw.ForeignKeyField(Person, backref="pets", on_delete="CASCADE")
    name = pw.CharField(index=True)
    weight = pw.DecimalField(max_digits=8, decimal_places=2, default=0)
    text = pw.TextField(null=True)
    alive = pw.BooleanField(default=True)

    class Meta:
        indexes = ((("owner", "name"), True),)


db.connect()
db.create_tables([Person, Pet])
db.create_tables([Person, Pet], safe=True)
assert sorted(db.get_tables()) == ["person", "pet"]
with db.atomic():
    ann = Person.create(name="ann", born=datetime.date(1990, 1, 1))
    Person.insert_many([{"name": f"p{n}"} for n in range(20)]).execute()
    Pet.insert_many([{"owner": 1 + n % 3, "name": f"pet {n}", "weight": n} for n in range(30)]).execute()
query = Person.select(Person.name, pw.fn.COUNT(Pet.id).alias("n")).join(Pet, pw.JOIN.LEFT_OUTER).group_by(Person.name).order_by(pw.SQL("n").desc(), Person.name)
assert [(p.name, p.n) for p in query.limit(4)] == [("ann", 10), ("p0", 10), ("p1", 10), ("p10", 0)]
assert [p.name for p in ann.pets.where(Pet.weight > 24)] == ["pet 27"]
assert Pet.select().where(Pet.name.contains("9") & (Pet.owner == 1)).count() == 1
assert Pet.update(weight=Pet.weight + 1).where(Pet.weight < 5).execute() == 5
Person.insert(name="ann").on_conflict(update={Person.born: None}).execute()
assert Person.get(Person.name == "ann").born is None
Person.insert(name="ann").on_conflict_ignore().execute()
Person.replace(name="p19", born=datetime.date(2000, 1, 1)).execute()
raises(pw.IntegrityError, lambda: Person.create(name="ann"))
raises(pw.IntegrityError, lambda: Pet.create(owner=9999, name="x"))
raises(pw.DataError, lambda: Person.create(name="x" * 41))
raises(pw.ProgrammingError, lambda: db.execute_sql("select * from nope"))
with db.atomic() as outer:
    Person.create(name="kept")
    with db.savepoint() as inner:
        Person.create(name="gone")
        inner.rollback()
assert Person.select().where(Person.name << ["kept", "gone"]).count() == 1

m = MySQLMigrator(db)
migrate(
    m.add_column("person", "email", pw.CharField(null=True)),
    m.add_index("person", ("email", "born"), False),
    m.rename_column("person", "born", "birthday"),
    m.add_not_null("pet", "text") if False else m.drop_not_null("pet", "weight"),
    m.alter_column_type("pet", "name", pw.CharField(max_length=300)),
    m.drop_column("person", "made"),
    m.rename_table("pet", "animal"),
    m.drop_index("animal", "pet_name"),
)
m2 = generate_models(db)
assert sorted(m2) == ["animal", "person"] and "birthday" in m2["person"]._meta.fields and m2["animal"]._meta.refs, m2
assert db.get_foreign_keys("animal")[0].dest_table == "person"
assert [i.name for i in db.get_indexes("person") if i.unique] == ["PRIMARY", "person_name"]
assert db.get_primary_keys("animal") == ["id"] and {c.name for c in db.get_columns("animal")} == {"id", "owner_id", "name", "weight", "text", "alive"}
m2["person"].delete().where(m2["person"].name == "ann").execute()
assert m2["animal"].select().count() == 20
db.drop_tables([m2["animal"], m2["person"]])
db.close()
