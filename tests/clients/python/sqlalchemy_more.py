"""SQLAlchemy's rarer parts, one a run: views, temporary tables, two-phase commits."""
import sys

import sqlalchemy as sa
from place import url
from sqlalchemy.orm import Session

engine = sa.create_engine(url("mysql+pymysql"))
meta = sa.MetaData()
t = sa.Table("t", meta, sa.Column("id", sa.Integer, primary_key=True), sa.Column("n", sa.Integer, unique=True))
meta.create_all(engine)


def views():
    with engine.begin() as c:
        c.execute(t.insert(), [{"n": n} for n in range(5)])
        c.execute(sa.text("CREATE VIEW v AS SELECT id, n * 2 AS twice FROM t WHERE n > 1"))
        assert sa.inspect(c).get_view_names() == ["v"] and sa.inspect(c).get_table_names() == ["t"]
        v = sa.Table("v", sa.MetaData(), autoload_with=c)
        assert c.execute(sa.select(v.c.twice).order_by(v.c.id)).scalars().all() == [4, 6, 8]
        assert "twice" in sa.inspect(c).get_view_definition("v")
        c.execute(sa.text("DROP VIEW v"))


def temporary():
    with engine.begin() as c:
        temp = sa.Table("temp", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), prefixes=["TEMPORARY"])
        temp.create(c)
        c.execute(temp.insert(), [{"id": 1}, {"id": 2}])
        assert c.execute(sa.select(sa.func.count()).select_from(temp)).scalar() == 2
        temp.drop(c)


def twophase():
    for end in ("commit", "rollback"):
        with Session(engine, twophase=True) as s:
            s.execute(t.insert().values(n=7))
            s.prepare()
            getattr(s, end)()
            s.execute(t.delete())
            s.commit()
    with engine.connect() as c:
        assert c.recover_twophase() == []


globals()[sys.argv[1]]()
meta.drop_all(engine)
