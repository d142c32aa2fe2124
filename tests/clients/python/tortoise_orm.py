"""Tortoise: generated schemas, relations, transactions, errors, over asyncmy."""
import asyncio
import sys
import types

from place import url
from tortoise import Tortoise, connections, fields
from tortoise.exceptions import DoesNotExist, IntegrityError, OperationalError
from tortoise.expressions import F, Q
from tortoise.functions import Count, Sum
from tortoise.models import Model
from tortoise.transactions import in_transaction

models = types.ModuleType("the_models")


class Tournament(Model):
    id = fields.IntField(primary_key=True)
    name = fields.CharField(max_length=60, unique=True, description="its name")
    made = fields.DatetimeField(auto_now_add=True)
    doc = fields.JSONField(null=True)


class Event(Model):
    id = fields.BigIntField(primary_key=True)
    name = fields.CharField(max_length=60, db_index=True)
    prize = fields.DecimalField(max_digits=10, decimal_places=2, null=True)
    tournament = fields.ForeignKeyField("m.Tournament", related_name="events", on_delete=fields.CASCADE)
    teams = fields.ManyToManyField("m.Team", related_name="events")

    class Meta:
        unique_together = (("name", "tournament"),)
        table_description = "what is played"


class Team(Model):
    id = fields.UUIDField(primary_key=True)
    name = fields.TextField()
    colour = fields.BinaryField(null=True)


for model in (Tournament, Event, Team):
    model.__module__ = "the_models"
    setattr(models, model.__name__, model)
sys.modules["the_models"] = models


async def refused(work):
    try:
        await work
    except IntegrityError:
        return
    raise AssertionError("IntegrityError was not raised")


async def main():
    await Tortoise.init(db_url=url("mysql"), modules={"m": ["the_models"]})
    await Tortoise.generate_schemas(safe=False)
    await Tortoise.generate_schemas(safe=True)
    one = await Tournament.create(name="one", doc={"k": [1, 2]})
    two = await Tournament.create(name="two")
    await Event.bulk_create([Event(name=f"e{n}", prize=n, tournament=one) for n in range(10)])
    team = await Team.create(name="reds", colour=b"\0\xff")
    for event in await Event.filter(prize__gt=6):
        await event.teams.add(team)
    assert await Event.filter(teams__name="reds", tournament__name="one").count() == 3
    rows = await Tournament.annotate(n=Count("events"), s=Sum("events__prize")).order_by("id").values_list("name", "n", "s")
    assert [r[:2] for r in rows] == [("one", 10), ("two", 0)] and rows[0][2] == 45, rows
    assert (await Tournament.get(name="one").prefetch_related("events")).events[2].name == "e2"
    assert await Event.filter(Q(name__icontains="E1") | Q(prize__lt=1)).count() == 2
    assert await Event.filter(prize__lt=3).update(prize=F("prize") + 1) == 3
    await refused(Tournament.create(name="one"))
    await refused(Event.create(name="x", tournament_id=999))
    try:
        async with in_transaction() as t:
            await Tournament.create(name="gone", using_db=t)
            raise ValueError
    except ValueError:
        pass
    try:
        await Tournament.get(name="gone")
        raise AssertionError("a rolled back row was found")
    except DoesNotExist:
        pass
    try:
        await connections.get("default").execute_query("SELECT * FROM nope")
        raise AssertionError("no error")
    except OperationalError:
        pass
    async with in_transaction() as t:
        assert await Event.filter(id=1).using_db(t).select_for_update(nowait=True).get()
    await one.delete()
    assert await Event.all().count() == 0 and await two.fetch_related("events") is None
    for table in ("event_team", "event", "team", "tournament"):
        await connections.get("default").execute_script(f"DROP TABLE {table}")
    await connections.close_all()


asyncio.run(main())
