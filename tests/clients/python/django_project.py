"""Django: migrations of its own applications and ours, the admin's tables, inspectdb, dumpdata and loaddata, errors of the ORM."""
import io
import os
import pathlib
import sys
import textwrap

here = pathlib.Path.cwd()
app = here / "shop"
(app / "migrations").mkdir(parents=True)
(app / "__init__.py").write_text("")
(app / "migrations" / "__init__.py").write_text("")
sys.path.insert(0, str(here))

MODELS = """
from django.db import models
from django.contrib.auth.models import User


class Tag(models.Model):
    word = models.CharField(max_length=30, unique=True)


class Item(models.Model):
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="items")
    name = models.CharField(max_length={length})
    slug = models.SlugField(unique=True)
    price = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    made = models.DateTimeField(auto_now_add=True)
    day = models.DateField(null=True)
    took = models.DurationField(null=True)
    active = models.BooleanField(default=True)
    doc = models.JSONField(default=dict)
    uid = models.UUIDField(null=True)
    ip = models.GenericIPAddressField(null=True)
    raw = models.BinaryField(default=b"")
    weight = models.FloatField(null=True, db_index={index})
    count = models.PositiveIntegerField(default=0)
    tags = models.ManyToManyField(Tag)
    {more}

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="one_name"),
            models.CheckConstraint(condition=models.Q(price__gte=0), name="not_negative"),
        ]
        indexes = [models.Index(fields=["name", "-price"], name="by_name")]
"""


def write(length, index, more):
    (app / "models.py").write_text(MODELS.format(length=length, index=index, more=more))


write(40, False, "old = models.IntegerField(default=3)")
from place import DATABASE, HOST, PASSWORD, PORT, USER, raises

(here / "project.py").write_text(textwrap.dedent(f"""
    SECRET_KEY = "x"
    USE_TZ = True
    TIME_ZONE = "UTC"
    DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
    INSTALLED_APPS = ["django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
                      "django.contrib.messages", "django.contrib.sites", "django.contrib.flatpages", "django.contrib.redirects", "shop"]
    SITE_ID = 1
    MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
                  "django.contrib.messages.middleware.MessageMiddleware"]
    TEMPLATES = [{{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {{"context_processors": [
        "django.template.context_processors.request", "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages"]}}}}]
    ROOT_URLCONF = "urls"
    ALLOWED_HOSTS = ["*"]
    STATIC_URL = "/static/"
    CACHES = {{"default": {{"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache_table"}}}}
    DATABASES = {{"default": {{"ENGINE": "django.db.backends.mysql", "NAME": {DATABASE!r}, "HOST": {HOST!r}, "PORT": {PORT},
                 "USER": {USER!r}, "PASSWORD": {PASSWORD!r}}}}}
"""))
(here / "urls.py").write_text("from django.contrib import admin\nfrom django.urls import path\nurlpatterns = [path('admin/', admin.site.urls)]\n")
(app / "admin.py").write_text(textwrap.dedent("""
    from django.contrib import admin
    from shop.models import Item, Tag
    @admin.register(Item)
    class ItemAdmin(admin.ModelAdmin):
        list_display = ["name", "price", "owner"]
        list_filter = ["active", "day", "tags"]
        search_fields = ["name", "owner__username"]
        date_hierarchy = "made"
"""))
os.environ["DJANGO_SETTINGS_MODULE"] = "project"


def manage(*args):
    """A command of manage.py, in a process of its own, since the models change."""
    import subprocess
    done = subprocess.run([sys.executable, "-m", "django", *args], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(here)})
    if done.returncode:
        sys.exit(f"manage.py {args[0]}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


manage("makemigrations", "shop")
manage("migrate")
write(80, True, "email = models.EmailField(null=True, unique=True)")
manage("makemigrations", "shop")
manage("migrate")
manage("migrate", "shop", "0001")
manage("migrate")
manage("check", "--database", "default")
manage("createcachetable")
assert "No changes" in manage("makemigrations", "--check", "--dry-run")

import django

django.setup()
import datetime
import decimal
import uuid

from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import Avg, CharField, Count, Exists, F, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce, Concat, ExtractYear, Lower, Now, TruncMonth
from django.test import Client
from shop.models import Item, Tag

ann = User.objects.create_superuser("ann", "ann@x.org", "secret")
bob = User.objects.create_user("bob", password="secret")
tags = Tag.objects.bulk_create([Tag(word=w) for w in "abc"])
tags = list(Tag.objects.order_by("id"))
for n in range(12):
    item = Item.objects.create(owner=ann if n % 3 else bob, name=f"item {n}", slug=f"s{n}", price=decimal.Decimal(n) / 4, day=datetime.date(2024, 1 + n, 1),
                               took=datetime.timedelta(days=n, microseconds=5), doc={"n": n, "deep": {"list": [n, "ü"]}}, uid=uuid.UUID(int=n),
                               ip="10.0.0.1", raw=bytes([n, 0, 255]), weight=n / 3)
    item.tags.set(tags[: n % 4])
read = Item.objects.get(slug="s7")
assert (read.took, read.uid, read.doc["deep"]["list"], bytes(read.raw), read.price) == (
    datetime.timedelta(days=7, microseconds=5), uuid.UUID(int=7), [7, "ü"], b"\x07\0\xff", decimal.Decimal("1.75"))

assert Item.objects.filter(owner__username="ann", tags__word="a").distinct().count() == 6
assert list(User.objects.annotate(n=Count("items"), s=Sum("items__price")).order_by("username").values_list("username", "n", "s")) == [
    ("ann", 8, decimal.Decimal("12.00")), ("bob", 4, decimal.Decimal("4.50"))]
assert Item.objects.filter(doc__n=3).get().slug == "s3" and Item.objects.filter(doc__deep__list__contains=[5]).count() == 1
assert Item.objects.filter(Q(name__icontains="ITEM 1") | Q(weight__gt=3)).count() == 3
assert Item.objects.filter(name__regex=r"^item [0-4]$").count() == 5
assert [d.month for d in Item.objects.dates("day", "month")][:3] == [1, 2, 3]
assert Item.objects.annotate(m=TruncMonth("made"), y=ExtractYear("day")).values("y").annotate(a=Avg("price")).get()["y"] == 2024
newest = Item.objects.filter(owner=OuterRef("pk")).order_by("-price").values("name")[:1]
assert [u.top for u in User.objects.annotate(top=Subquery(newest)).order_by("id")] == ["item 11", "item 9"]
assert User.objects.filter(Exists(Item.objects.filter(owner=OuterRef("pk"), price__gt=2.5))).get() == ann
assert Item.objects.annotate(x=Concat(Lower("name"), Coalesce("email", "slug", output_field=CharField()), output_field=CharField())).filter(x="item 1s1").exists()
assert Item.objects.filter(price__lt=2).update(count=F("count") + 2, made=Now()) == 8
assert Item.objects.bulk_update([Item(id=i.id, weight=1) for i in Item.objects.all()], ["weight"]) is not None
Tag.objects.bulk_create([Tag(word="a"), Tag(word="z")], ignore_conflicts=True)
assert Tag.objects.count() == 4
assert Tag.objects.get_or_create(word="z")[1] is False and Tag.objects.update_or_create(word="y")[1] is True
assert len(list(Item.objects.select_related("owner").prefetch_related("tags").iterator(chunk_size=5))) == 12
with transaction.atomic():
    assert list(Item.objects.select_for_update(nowait=True).filter(slug="s1"))
assert len(Tag.objects.filter(word="a").union(Tag.objects.filter(word="b"))) == 2
assert Item.objects.filter(slug="s1").explain()


def refused(kind, **values):
    def work():
        with transaction.atomic():
            Item.objects.create(**{"owner": ann, "name": "new", "slug": "new", **values})
    raises(kind, work)


refused(IntegrityError, slug="s1")
refused(IntegrityError, name="item 1")
refused(IntegrityError, price=-1)
refused(DataError, name="x" * 81)
with connection.cursor() as cursor:
    raises(IntegrityError, lambda: cursor.execute("INSERT INTO shop_item_tags (item_id, tag_id) VALUES (9999, 1)"))
    introspection = connection.introspection
    constraints = introspection.get_constraints(cursor, "shop_item")
    assert constraints["not_negative"]["check"] and constraints["one_name"]["unique"] and constraints["by_name"]["orders"] == ["ASC", "DESC"], constraints
    assert len(introspection.get_relations(cursor, "shop_item_tags")) == 2
cache.set("k", {"v": 1}, 100)
assert cache.get("k") == {"v": 1} and cache.add("k", 1) is False

out = io.StringIO()
call_command("inspectdb", stdout=out)
assert "class ShopItem(models.Model)" in out.getvalue() and "models.ForeignKey" in out.getvalue() and "unique_together" in out.getvalue()
assert "Unable to inspect" not in out.getvalue(), out.getvalue()
call_command("dumpdata", output="all.json", exclude=["contenttypes", "auth.permission"])
browser = Client()
assert browser.login(username="ann", password="secret")
for page in ["", "shop/item/", "shop/item/?q=ann&active__exact=1&made__year=2024", "shop/item/1/change/", "auth/user/", "shop/item/add/"]:
    answer = browser.get("/admin/" + page, follow=True)
    assert answer.status_code == 200, f"/admin/{page}: {answer.status_code}"
assert browser.post("/admin/shop/tag/add/", {"word": "made by hand"}).status_code in (302, 403, 404)
call_command("flush", interactive=False)
assert Item.objects.count() == 0
call_command("loaddata", "all.json")
assert Item.objects.count() == 12 and Item.objects.get(slug="s7").doc["n"] == 7
User.objects.all().delete()
assert Item.objects.count() == 0
manage("migrate", "shop", "zero")
