"""Alembic: migrations made by comparison with the models, run, run back, and an empty difference in the end."""
import os
import pathlib

import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from place import url

here = pathlib.Path.cwd() / "alembic"
config = Config(str(pathlib.Path.cwd() / "alembic.ini"))
config.set_main_option("script_location", str(here))
config.set_main_option("sqlalchemy.url", url("mysql+pymysql"))
command.init(config, str(here))
(here / "env.py").write_text(f"""
import sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from alembic import context
import sqlalchemy as sa
target = context.config.attributes["metadata"]
engine = sa.create_engine(context.config.get_main_option("sqlalchemy.url"))
with engine.connect() as connection:
    context.configure(connection=connection, target_metadata=target, compare_type=True)
    with context.begin_transaction():
        context.run_migrations()
""")


def first():
    m = sa.MetaData()
    sa.Table("author", m, sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(30), nullable=False, unique=True),
             sa.Column("old", sa.Integer, server_default="1"))
    sa.Table("book", m, sa.Column("id", sa.Integer, primary_key=True), sa.Column("author_id", sa.ForeignKey("author.id", name="fk_author")),
             sa.Column("title", sa.String(100)), sa.Column("isbn", sa.String(20), index=True), sa.Column("price", sa.Float))
    return m


def second():
    m = sa.MetaData()
    sa.Table("author", m, sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(60), nullable=True, comment="whole"),
             sa.Column("email", sa.String(80), nullable=False, server_default=""), sa.Index("by_email", "email", unique=True, mysql_length=20))
    sa.Table("book", m, sa.Column("id", sa.Integer, primary_key=True), sa.Column("title", sa.Text), sa.Column("isbn", sa.BigInteger, index=True),
             sa.Column("price", sa.Numeric(9, 2), nullable=False, server_default="0.00"), sa.Column("at", sa.DateTime, server_default=sa.func.now()))
    sa.Table("shelf", m, sa.Column("book_id", sa.ForeignKey("book.id", ondelete="SET NULL"), nullable=True), sa.Column("flag", sa.Boolean),
             comment="shelves")
    return m


engine = sa.create_engine(url("mysql+pymysql"))


def difference(m):
    with engine.connect() as c:
        return compare_metadata(MigrationContext.configure(c, opts={"compare_type": True}), m)


for n, metadata in enumerate([first(), second()]):
    config.attributes["metadata"] = metadata
    command.revision(config, f"step {n}", autogenerate=True)
    command.upgrade(config, "head")
    assert difference(metadata) == [], difference(metadata)
    command.check(config)
command.downgrade(config, "-1")
assert difference(first()) == [], difference(first())
command.upgrade(config, "head")
command.downgrade(config, "base")
assert sa.inspect(engine).get_table_names() == ["alembic_version"]
with engine.begin() as c:
    c.execute(sa.text("DROP TABLE alembic_version"))
