"""Pony: its mapping, generator queries, errors, optimistic checks."""
from datetime import date, datetime
from decimal import Decimal

from place import DATABASE, HOST, PASSWORD, PORT, USER, raises
from pony import orm

db = orm.Database()


class Group(db.Entity):
    name = orm.Required(str, 40, unique=True)
    students = orm.Set("Student")


class Student(db.Entity):
    name = orm.Required(str)
    group = orm.Optional(Group)
    born = orm.Optional(date)
    at = orm.Required(datetime, default=datetime(2024, 1, 2, 3, 4, 5))
    mark = orm.Required(Decimal, precision=6, scale=2)
    doc = orm.Optional(orm.Json)
    text = orm.Optional(orm.LongStr)
    courses = orm.Set("Course")
    orm.composite_index(name, born)


class Course(db.Entity):
    title = orm.Required(str, 60)
    term = orm.Required(int, size=16, unsigned=True)
    orm.PrimaryKey(title, term)
    students = orm.Set(Student)


db.bind("mysql", host=HOST, port=PORT, user=USER, passwd=PASSWORD, db=DATABASE)
db.generate_mapping(create_tables=True)

with orm.db_session:
    a, b = Group(name="a"), Group(name="b")
    courses = [Course(title=f"c{n}", term=n) for n in range(3)]
    for n in range(10):
        Student(name=f"s{n}", group=a if n % 2 else b, mark=Decimal(n) / 2, born=date(2000, 1, 1 + n), doc={"n": n}, courses=courses[: n % 3])

with orm.db_session:
    assert orm.select(s.name for s in Student if s.group.name == "a" and s.mark > 3)[:].to_list() == ["s7", "s9"]
    assert sorted(orm.select((g.name, orm.count(g.students), orm.avg(s.mark)) for g in Group for s in g.students)) == [("a", 5, Decimal("2.5")), ("b", 5, Decimal("2"))]
    assert orm.select(s for s in Student if orm.count(s.courses) == 2).count() == 3
    assert orm.select(s for s in Student if s.doc["n"] == 4).get().name == "s4"
    assert orm.max(s.born for s in Student) == date(2000, 1, 10)
    assert orm.exists(s for s in Student if s.born.year == 2000 and s.name.startswith("s"))
    assert orm.select(s for s in Student).order_by(orm.desc(Student.mark)).page(2, 3)[:][0].name == "s6"
    assert len(orm.select(s for s in Student if s.name in ("s1", "s2")).for_update()) == 2
    Student[1].mark += 1
    Student[2].delete()


def twice():
    with orm.db_session:
        Group(name="a")


raises(orm.TransactionIntegrityError, twice)
with orm.db_session:
    assert Student[1].mark == 1 and Group.get(name="a").students.count() == 4
    Group.get(name="b").delete()
    assert orm.count(s for s in Student if s.group is None) == 5
db.drop_all_tables(with_all_data=True)
