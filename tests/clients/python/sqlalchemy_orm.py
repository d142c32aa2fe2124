"""SQLAlchemy: tables by metadata, the ORM, constraint errors, savepoints, isolation levels, two-phase commit apart, the inspector."""
import datetime
import decimal
import enum
import sys

import sqlalchemy as sa
from place import DATABASE, raises, url
from sqlalchemy import exc
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload

engine = sa.create_engine(url(f"mysql+{sys.argv[1]}"))


class Base(DeclarativeBase):
    pass


class Color(enum.Enum):
    RED = 1
    BLUE = 2


tags = sa.Table("item_tag", Base.metadata, sa.Column("item_id", sa.ForeignKey("item.id", ondelete="CASCADE"), primary_key=True),
                sa.Column("tag_id", sa.ForeignKey("tag.id"), primary_key=True))


class User(Base):
    __tablename__ = "user"
    __table_args__ = (sa.Index("by_born", "born", "name"), {"comment": "people"})
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(40), unique=True, comment="a name")
    born: Mapped[datetime.date | None]
    made: Mapped[datetime.datetime] = mapped_column(server_default=sa.func.now())
    doc: Mapped[dict | None] = mapped_column(sa.JSON)
    items: Mapped[list["Item"]] = relationship(back_populates="owner", cascade="all, delete-orphan")


class Item(Base):
    __tablename__ = "item"
    __table_args__ = (sa.CheckConstraint("price >= 0", name="not_negative"), sa.UniqueConstraint("owner_id", "name", name="one_name"))
    id: Mapped[int] = mapped_column(sa.BigInteger, primary_key=True, autoincrement=True)
    owner_id: Mapped[int] = mapped_column(sa.ForeignKey("user.id", name="owned", onupdate="CASCADE"))
    name: Mapped[str] = mapped_column(sa.String(40))
    price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(12, 3))
    color: Mapped[Color | None]
    half: Mapped[decimal.Decimal | None] = mapped_column(sa.Numeric(12, 3), sa.Computed("price / 2"))
    note: Mapped[str | None] = mapped_column(sa.Text, index=False)
    small: Mapped[int] = mapped_column(mysql.TINYINT(unsigned=True), server_default="3")
    owner: Mapped[User] = relationship(back_populates="items")
    tags: Mapped[list["Tag"]] = relationship(secondary=tags)


class Tag(Base):
    __tablename__ = "tag"
    id: Mapped[int] = mapped_column(primary_key=True)
    word: Mapped[str] = mapped_column(sa.String(20))


def fill():
    with Session(engine) as s:
        red = Tag(word="red")
        ann = User(name="ann", born=datetime.date(1990, 1, 2), doc={"a": [1, {"b": "ü"}], "n": 5})
        ann.items = [Item(name=f"i{n}", price=decimal.Decimal(n) / 8, color=Color.RED, tags=[red] if n % 2 else []) for n in range(10)]
        s.add_all([ann, User(name="bob")])
        s.commit()
        assert ann.id == 1 and ann.made.year > 2000 and ann.items[3].half == decimal.Decimal("0.188")


def query():
    with Session(engine) as s:
        rows = s.execute(sa.select(User.name, sa.func.count(Item.id), sa.func.sum(Item.price)).outerjoin(Item).group_by(User.name)
                         .having(sa.func.count() > 0).order_by(User.name)).all()
        assert rows == [("ann", 10, decimal.Decimal("5.625")), ("bob", 0, None)], rows
        ann = s.scalars(sa.select(User).options(selectinload(User.items).selectinload(Item.tags)).where(User.name.like("a%"))).one()
        assert [len(i.tags) for i in ann.items] == [0, 1] * 5
        assert s.scalar(sa.select(sa.func.count()).where(User.doc["n"].as_integer() == 5)) == 1
        part = sa.select(Item.owner_id, sa.func.max(Item.price).label("top")).group_by(Item.owner_id).cte("part")
        assert s.execute(sa.select(User.name, part.c.top).join(part, part.c.owner_id == User.id)).all() == [("ann", decimal.Decimal("1.125"))]
        assert s.scalar(sa.select(sa.exists().where(Item.color == Color.BLUE))) is False
        both = sa.union_all(sa.select(User.name), sa.select(Tag.word)).order_by("name").limit(2).offset(1)
        assert [r[0] for r in s.execute(both)] == ["bob", "red"]
        s.execute(sa.update(Item).where(Item.price > 1).values(note=sa.func.concat(Item.name, "!")))
        s.execute(mysql.insert(Tag).values(id=1, word="x").on_duplicate_key_update(word="y"))
        assert s.scalar(sa.select(Tag.word)) == "y"
        assert s.scalars(sa.select(User).with_for_update(skip_locked=True)).all()
        s.rollback()


def errors():
    with Session(engine) as s:
        def add(row):
            def work():
                s.add(row)
                s.flush()
            error = raises(exc.DBAPIError, work)
            s.rollback()
            return type(error), error.orig.args[0]

        assert add(User(name="ann")) == (exc.IntegrityError, 1062)
        assert add(Item(owner_id=77, name="x", price=1))[0] is exc.IntegrityError
        assert add(Item(owner_id=1, name="x", price=-1))[1] in (3819, 4025)
        assert add(User(name=None)) == (exc.IntegrityError, 1048)
        assert add(User(name="x" * 50))[0] is exc.DataError
        assert type(raises(exc.DBAPIError, lambda: s.execute(sa.delete(User)))) is exc.IntegrityError
        s.rollback()
        assert type(raises(exc.DBAPIError, lambda: s.execute(sa.text("select * from nope")))) is exc.ProgrammingError
        s.rollback()
        with s.begin():
            s.add(Tag(word="kept"))
            nested = s.begin_nested()
            s.add(Tag(word="gone"))
            nested.rollback()
        assert s.scalars(sa.select(Tag.word).order_by(Tag.id)).all() == ["red", "kept"]
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "READ UNCOMMITTED"]:
        with engine.connect().execution_options(isolation_level=level) as c:
            assert c.get_isolation_level() == level
            c.execute(sa.select(User)).all()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT", stream_results=True) as c:
        assert len(c.execute(sa.select(Item)).fetchmany(3)) == 3


def inspected():
    i = sa.inspect(engine)
    assert sorted(i.get_table_names()) == ["item", "item_tag", "tag", "user"], i.get_table_names()
    assert i.get_view_names() == [] and DATABASE in i.get_schema_names()
    assert i.has_table("user") and not i.has_table("users") and i.has_index("user", "by_born")
    columns = {c["name"]: c for c in i.get_columns("item")}
    assert columns["price"]["type"].precision == 12 and columns["half"]["computed"]["sqltext"], columns
    assert columns["color"]["type"].enums == ["RED", "BLUE"] and columns["small"]["type"].unsigned and columns["small"]["default"] in ("'3'", "3")
    assert i.get_table_comment("user") == {"text": "people"}
    assert {c["name"]: c["comment"] for c in i.get_columns("user")}["name"] == "a name"
    assert i.get_pk_constraint("item_tag")["constrained_columns"] == ["item_id", "tag_id"]
    keys = {k["name"]: k for k in i.get_foreign_keys("item")}
    assert keys["owned"]["options"] == {"onupdate": "CASCADE"} and keys["owned"]["referred_table"] == "user", keys
    assert {k["name"] for k in i.get_indexes("user")} == {"by_born", "name"}
    assert [k["name"] for k in i.get_unique_constraints("item")] == ["one_name"]
    assert [k["name"] for k in i.get_check_constraints("item")] == ["not_negative"], i.get_check_constraints("item")
    again = sa.MetaData()
    again.reflect(engine)
    assert set(again.tables) == set(Base.metadata.tables)
    # What was read back makes the same tables again.
    Base.metadata.drop_all(engine)
    again.create_all(engine)
    assert len(sa.inspect(engine).get_foreign_keys("item_tag")) == 2


Base.metadata.create_all(engine)
Base.metadata.create_all(engine)
fill()
query()
errors()
inspected()
Base.metadata.drop_all(engine)
