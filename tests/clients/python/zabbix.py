"""Zabbix, as Debian packs it: its server and its pages, with a host whose values come, raise a problem and are asked for.

Its triggers keep names in upper case for the search of its pages, which is not tried; Tidemill's schema has none of them.
"""
import gzip
import http.cookiejar
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

import place

SCHEMA = "/usr/share/zabbix-server-mysql"
# Seconds after which something that must come is given up.
LIMIT = 60
# A socket's path is short.
SOCKETS = tempfile.mkdtemp()


def port_of_nobody():
    """Below 32768: Zabbix takes no other."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def until(what, why):
    end = time.time() + LIMIT
    while time.time() < end:
        found = what()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(why)


def load(name):
    text = gzip.open(f"{SCHEMA}/{name}.sql.gz", "rt", encoding="utf-8").read()
    if os.environ["CLIENTS_KIND"] == "tidemill":
        text = re.sub(r"(?ms)^DELIMITER \$\$$.*?^DELIMITER ;$", "", text)
    done = subprocess.run(
        ["mariadb", "--no-defaults", f"--host={place.HOST}", f"--port={place.PORT}", f"--user={place.USER}", f"--password={place.PASSWORD}",
         "--default-character-set=utf8mb4", place.DATABASE], input=text, text=True, capture_output=True)
    assert done.returncode == 0, f"{name}: {done.stderr}"


def ask(sql):
    done = subprocess.run(
        ["mariadb", "--no-defaults", f"--host={place.HOST}", f"--port={place.PORT}", f"--user={place.USER}", f"--password={place.PASSWORD}", "-N", "-e", sql, place.DATABASE],
        text=True, capture_output=True)
    assert done.returncode == 0, f"{sql}: {done.stderr}"
    return done.stdout.strip()


def start_server(port):
    lines = {
        "ListenPort": port, "ListenIP": "127.0.0.1", "LogFile": os.path.abspath("zabbix.log"), "PidFile": os.path.abspath("zabbix.pid"), "SocketDir": SOCKETS,
        "DBHost": place.HOST, "DBPort": place.PORT, "DBName": place.DATABASE, "DBUser": place.USER, "DBPassword": place.PASSWORD,
        "AllowRoot": 1, "StartPollers": 1, "StartPollersUnreachable": 1, "StartTrappers": 2, "StartPingers": 0, "StartDiscoverers": 1, "StartHTTPPollers": 1,
        "StartHistoryPollers": 1, "StartPreprocessors": 1, "CacheUpdateFrequency": 5, "LogSlowQueries": 3000, "FpingLocation": "/usr/bin/fping",
        # Of MariaDB it knows 10.10 at most.
        "AllowUnsupportedDBVersions": int(os.environ["CLIENTS_KIND"] == "mariadb"),
    }
    with open("zabbix.conf", "w") as file:
        file.writelines(f"{name}={value}\n" for name, value in lines.items())
    return subprocess.Popen(["/usr/sbin/zabbix_server", "-f", "-c", os.path.abspath("zabbix.conf")], stdout=open("server.out", "w"), stderr=subprocess.STDOUT)


def log():
    return open("zabbix.log", errors="replace").read() if os.path.exists("zabbix.log") else ""


def start_pages(port, server_port):
    shutil.copytree("/usr/share/zabbix", "pages", dirs_exist_ok=True)
    # Debian's pages look for it in /etc.
    finder = "pages/include/classes/core/CConfigFile.php"
    text = open(finder).read()
    config = os.path.abspath("zabbix.conf.php")
    with open(finder, "w") as file:
        file.write(text.replace("/etc/zabbix/zabbix.conf.php", config))
    with open(config, "w") as file:
        file.write(f"""<?php
$DB['TYPE'] = 'MYSQL'; $DB['SERVER'] = '{place.HOST}'; $DB['PORT'] = '{place.PORT}'; $DB['DATABASE'] = '{place.DATABASE}';
$DB['USER'] = '{place.USER}'; $DB['PASSWORD'] = '{place.PASSWORD}'; $DB['SCHEMA'] = ''; $DB['ENCRYPTION'] = false;
$DB['KEY_FILE'] = ''; $DB['CERT_FILE'] = ''; $DB['CA_FILE'] = ''; $DB['VERIFY_HOST'] = false; $DB['CIPHER_LIST'] = '';
$DB['VAULT_URL'] = ''; $DB['VAULT_DB_PATH'] = ''; $DB['VAULT_TOKEN'] = ''; $DB['DOUBLE_IEEE754'] = true;
$ZBX_SERVER = '127.0.0.1'; $ZBX_SERVER_PORT = '{server_port}'; $ZBX_SERVER_NAME = 'here'; $IMAGE_FORMAT_DEFAULT = IMAGE_FORMAT_PNG;
""")
    return subprocess.Popen(
        ["php", "-d", "post_max_size=16M", "-d", "max_execution_time=300", "-d", "max_input_time=300", "-d", "memory_limit=256M", "-S", f"127.0.0.1:{port}", "-t", "pages"],
        stdout=open("php.log", "w"), stderr=subprocess.STDOUT)


class Api:
    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/api_jsonrpc.php"
        self.auth = None
        self.auth = self("user.login", username="Admin", password="zabbix")

    def __call__(self, method, _params=None, **params):
        request = {"jsonrpc": "2.0", "method": method, "params": params if _params is None else _params, "id": 1, "auth": self.auth}
        post = urllib.request.Request(self.url, json.dumps(request).encode(), {"Content-Type": "application/json-rpc"})
        answer = json.load(urllib.request.urlopen(post, timeout=LIMIT))
        assert "result" in answer, f"{method}: {answer}"
        return answer["result"]


def look_at_pages(port):
    """The pages of a user; one that could not ask the database says so on itself."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    base = f"http://127.0.0.1:{port}"
    form = urllib.parse.urlencode({"name": "Admin", "password": "zabbix", "enter": "Sign in"}).encode()
    assert "zabbix.php?action=dashboard" in browser.open(f"{base}/index.php", form, timeout=LIMIT).read().decode(), "no login"
    actions = ["dashboard.view", "problem.view", "host.view", "latest.view", "map.view", "discovery.view", "service.list", "host.list", "report.status", "user.list",
               "usergroup.list", "userrole.list", "mediatype.list", "script.list", "queue.overview", "web.view", "auditlog.list", "gui.edit", "housekeeping.edit",
               "popup.itemtest.edit", "module.list", "regex.list", "token.list", "proxy.list", "discovery.list"]
    pages = [f"zabbix.php?action={a}" for a in actions]
    pages += ["hostgroups.php", "templates.php", "maintenance.php", "triggers.php?context=host", "items.php?context=host", "graphs.php?context=host",
              "actionconf.php?eventsource=0", "toptriggers.php", "report2.php", "sysmaps.php", "host_discovery.php?context=template", "httpconf.php?context=host"]
    for page in pages:
        text = browser.open(f"{base}/{page}", timeout=LIMIT).read().decode()
        for word in ["Error in query", "SQL statement execution", "Fatal error", "mysqli_"]:
            at = text.find(word)
            assert at < 0, f"{page}: {text[max(0, at - 100):at + 500]}"


def send(port, host, values):
    """The protocol of zabbix_sender."""
    body = json.dumps({"request": "sender data", "data": [{"host": host, "key": key, "value": value} for key, value in values]}).encode()
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as conn:
        conn.sendall(b"ZBXD\1" + struct.pack("<Q", len(body)) + body)
        answer = b""
        while chunk := conn.recv(65536):
            answer += chunk
    return json.loads(answer[13:])["info"]


def a_host_and_its_values(api, port):
    group = api("hostgroup.create", name="Machines")["groupids"][0]
    host = api("host.create", host="mill", groups=[{"groupid": group}], tags=[{"tag": "place", "value": "Köln"}],
               interfaces=[{"type": 1, "main": 1, "useip": 1, "ip": "127.0.0.1", "dns": "", "port": "10050"}],
               macros=[{"macro": "{$MOST}", "value": "5"}])["hostids"][0]
    # Value types: 0 float, 1 character, 2 log, 3 unsigned, 4 text.
    kinds = {"float": 0, "character": 1, "log": 2, "unsigned": 3, "text": 4}
    items = {name: api("item.create", hostid=host, name=name, key_=f"value.{name}", type=2, value_type=kind, delay="0")["itemids"][0] for name, kind in kinds.items()}
    api("trigger.create", description="too many on {HOST.NAME}", expression="last(/mill/value.unsigned)>{$MOST}", priority=4)
    subprocess.run(["/usr/sbin/zabbix_server", "-c", os.path.abspath("zabbix.conf"), "-R", "config_cache_reload"], check=True)
    until(lambda: "failed: 0" in send(port, "mill", [("value.unsigned", "1")]), "the server never knew the host")

    said = send(port, "mill", [("value.float", "-1.5e100"), ("value.character", "grün"), ("value.log", "a line"), ("value.text", "text \U0001f600\nsecond"),
                               ("value.unsigned", "18446744073709551615")])
    assert "processed: 5; failed: 0" in said, said
    wanted = {"float": "-1.5e+100", "character": "grün", "log": "a line", "text": "text \U0001f600\nsecond", "unsigned": "18446744073709551615"}

    def last(name):
        rows = api("history.get", history=kinds[name], itemids=items[name], sortfield="clock", sortorder="DESC", limit=10)
        return max(rows, key=lambda row: (int(row["clock"]), int(row["ns"])))["value"] if rows else None
    for name, value in wanted.items():
        same = (lambda: float(last(name) or 0) == float(value)) if name == "float" else (lambda: last(name) == value)
        until(same, f"{name}: {value} has not come")

    problem = until(lambda: api("problem.get", hostids=host, selectTags="extend"), "no problem")[0]
    assert problem["name"] == "too many on mill", problem
    api("event.acknowledge", eventids=problem["eventid"], action=6, message="seen by §")
    for number in range(200):
        send(port, "mill", [("value.unsigned", str(number % 5)), ("value.float", str(number / 7))])
    until(lambda: not api("problem.get", hostids=host), "the problem never ended")
    events = api("event.get", hostids=host, sortfield="eventid", select_acknowledges="extend")
    assert [e["value"] for e in events] == ["1", "0"] and events[0]["acknowledges"][0]["message"] == "seen by §", events
    until(lambda: api("history.get", history=3, itemids=items["unsigned"], countOutput=True) == "202", "values are missing")

    # A template with its items is linked, which copies them, and taken away with what came of it.
    template = api("template.get", filter={"host": ["Linux by Zabbix agent"]})[0]["templateid"]
    api("host.update", hostid=host, templates=[{"templateid": template}])
    assert int(api("item.get", hostids=host, countOutput=True)) > 30
    api("host.update", hostid=host, templates=[], templates_clear=[{"templateid": template}])
    assert api("item.get", hostids=host, countOutput=True) == "5"
    api("user.create", username="visitor", passwd="Long enough 1", roleid="1", usrgrps=[{"usrgrpid": "7"}])
    api("maintenance.create", name="Pause", active_since=int(time.time()), active_till=int(time.time()) + 3600, groups=[{"groupid": group}],
        timeperiods=[{"timeperiod_type": 0, "period": 3600}])
    return host


ask(f"ALTER DATABASE {place.DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
load("schema")
load("images")
load("data")
port, pages_port = port_of_nobody(), port_of_nobody()
server = start_server(port)
pages = start_pages(pages_port, port)
try:
    until(lambda: "server #0 started [main process]" in log(), "the server did not start")
    api = until(lambda: pages.poll() is None and socket.socket().connect_ex(("127.0.0.1", pages_port)) == 0 and Api(pages_port), "no pages")
    host = a_host_and_its_values(api, port)
    look_at_pages(pages_port)
    subprocess.run(["/usr/sbin/zabbix_server", "-c", os.path.abspath("zabbix.conf"), "-R", "housekeeper_execute"], check=True)
    until(lambda: "housekeeper [deleted" in log(), "no housekeeping")
    api("host.delete", [host])
    assert ask("SELECT COUNT(*) FROM items WHERE hostid = " + host) == "0"
    assert server.poll() is None, "the server ended: " + log()[-1000:]
finally:
    server.send_signal(signal.SIGTERM)
    server.wait(timeout=LIMIT)
    pages.terminate()
    pages.wait()
    for made in ["pages", SOCKETS]:
        shutil.rmtree(made, ignore_errors=True)
for line in log().splitlines():
    assert not re.search(r"\[Z3\d+\]|query failed|Got signal \[signal:(?!15)|crash", line), line
