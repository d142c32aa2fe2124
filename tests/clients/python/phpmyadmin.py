"""phpMyAdmin, as Debian packs it, in Chromium: what its pages ask of a server, and what a person does with a table there."""
import os
import shutil
import socket
import subprocess
import time
from urllib.parse import urlencode

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from place import DATABASE, HOST, PASSWORD, USER

# Seconds after which a page is given up.
LIMIT = 60


def port_of_nobody():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def php(port):
    """PHP's own web server. phpMyAdmin without a configuration goes to localhost, which is a socket."""
    os.makedirs("sessions", exist_ok=True)
    return subprocess.Popen(
        ["php", "-d", f"mysqli.default_socket={os.environ['CLIENTS_SOCKET']}", "-d", "session.save_path=" + os.path.abspath("sessions"),
         "-S", f"127.0.0.1:{port}", "-t", "/usr/share/phpmyadmin"],
        stdout=open("php.log", "w"), stderr=subprocess.STDOUT)


def chromium():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    # "You have unsaved changes": leave the page.
    options.unhandled_prompt_behavior = "accept"
    for flag in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1600,1400",
                 "--user-data-dir=" + os.path.abspath("browser")]:
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": os.getcwd(), "download.prompt_for_download": False})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


class Pages:
    """The browser on phpMyAdmin's pages; each is looked at for what the server has refused."""

    def __init__(self, browser, base):
        self.browser = browser
        self.base = base

    def all(self, css):
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        return WebDriverWait(self.browser, LIMIT).until(lambda b: b.find_element(By.CSS_SELECTOR, css), f"no {css}")

    def text(self):
        return self.one("body").text

    def click(self, css):
        element = self.one(css)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        self.browser.execute_script("arguments[0].click()", element)

    def write(self, css, value):
        element = self.one(css)
        element.clear()
        element.send_keys(value)

    def until(self, what, why):
        def asked(_):
            try:
                return what()
            except StaleElementReferenceException:
                return False
        WebDriverWait(self.browser, LIMIT).until(asked, why + "\n" + self.text()[-3000:])

    def clean(self, where):
        """No error of the server, none of PHP."""
        for box in self.all(".alert-danger, .error"):
            said = " ".join(box.text.split())
            # What its own scripts stumble over is no server's.
            ours = said and box.is_displayed() and "JavaScript error" not in said
            assert not ours, f"{where}: {said}"
        for word in ["Fatal error", "Uncaught", "MySQL said"]:
            assert word not in self.text(), f"{where}: {self.text()}"

    def open(self, route, **query):
        """A page by its route, as a link to it has it."""
        self.browser.get(f"{self.base}/index.php?" + urlencode({"route": route, "lang": "en", "server": "1"} | query))
        self.one("#page_content, #login_form")
        self.quiet()
        self.clean(f"{route} {query}")
        return self.text()

    def quiet(self):
        """What the page has asked for behind it has come."""
        self.until(lambda: self.browser.execute_script("return document.readyState == 'complete' && (!window.jQuery || jQuery.active == 0)"),
                   "the page is never ready")

    def log_in(self):
        self.open("/")
        self.write("#input_username", USER)
        self.write("#input_password", PASSWORD)
        self.click("#input_go")
        self.one("#server-breadcrumb")
        self.quiet()
        self.clean("login")

    def run(self, sql, **place):
        """Statements in the window for SQL."""
        route = "/database/sql" if place else "/server/sql"
        self.open(route, **place)
        self.until(lambda: self.browser.execute_script("return !!window.codeMirrorEditor"), "no editor")
        self.browser.execute_script("codeMirrorEditor.setValue(arguments[0])", sql)
        self.click("#button_submit_query")
        self.until(lambda: self.all("#sqlqueryresultsouter .result_query, .alert-danger"), "no result")
        self.quiet()
        self.clean(sql)
        return self.text()


TABLES = """
CREATE TABLE author (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL, born DATE, UNIQUE KEY by_name (name)) COMMENT 'who writes';
CREATE TABLE book (id INT AUTO_INCREMENT PRIMARY KEY, author INT NOT NULL, title VARCHAR(80) NOT NULL, price DECIMAL(8,2) DEFAULT 9.99,
  kind ENUM('novel','poem') DEFAULT 'novel', tags SET('old','new','rare'), text TEXT, cover BLOB, flag BIT(3), changed TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  length INT AS (CHAR_LENGTH(title)) STORED, KEY by_author (author), CONSTRAINT written FOREIGN KEY (author) REFERENCES author (id) ON DELETE CASCADE, CHECK (price >= 0));
CREATE VIEW shelf AS SELECT a.name, b.title FROM author a JOIN book b ON b.author = a.id;
INSERT INTO author (name, born) VALUES ('Anna Achmatowa', '1889-06-23'), ('Jürgen', NULL), ('李白', '0701-01-01');
INSERT INTO book (author, title, tags, text, cover, flag) VALUES (1, 'Requiem', 'old,rare', 'a\nb', x'00ff10', b'101'), (2, 'Nordsee', NULL, NULL, NULL, NULL), (3, '靜夜思', 'old', '床前明月光', NULL, b'1');
"""

SERVER_PAGES = ["/server/databases", "/server/status", "/server/status/processes", "/server/status/queries", "/server/status/variables", "/server/status/advisor",
                "/server/status/monitor", "/server/privileges", "/server/variables", "/server/collations", "/server/engines", "/server/plugins",
                "/server/binlog", "/server/replication", "/server/export", "/server/import"]
DATABASE_PAGES = ["/database/structure", "/database/search", "/database/multi-table-query", "/database/export", "/database/import", "/database/operations",
                  "/database/routines", "/database/events", "/database/triggers", "/database/designer", "/database/data-dictionary"]
TABLE_PAGES = ["/sql", "/table/structure", "/table/sql", "/table/search", "/table/change", "/table/export", "/table/import", "/table/operations", "/table/tracking",
               "/table/relation", "/table/triggers", "/table/find-replace"]


def a_person_at_work(pages):
    here = {"db": DATABASE}
    book = here | {"table": "book"}
    pages.run(TABLES, **here)
    for page in SERVER_PAGES:
        pages.open(page)
    for page in DATABASE_PAGES:
        pages.open(page, **here)
    for table in ["author", "book", "shelf"]:
        for page in TABLE_PAGES:
            if table == "shelf" and page in ("/table/relation", "/table/tracking", "/table/triggers", "/table/find-replace", "/table/import"):
                continue
            pages.open(page, **here, table=table)
    pages.open("/server/privileges", **here, checkprivsdb=DATABASE, viewing_mode="db")
    pages.open("/server/privileges", **book, checkprivsdb=DATABASE, checkprivstable="book", viewing_mode="table")

    # A row is put in by the form, found by the search, changed in its cell, and taken out.
    pages.open("/table/change", **here, table="author")
    pages.write("[name^='fields[multi_edit][0]'][id='field_2_3']", "Émile Zola")
    pages.click("#buttonYes")
    pages.until(lambda: "1 row inserted" in pages.text(), "no row inserted")
    pages.clean("insert")
    pages.open("/table/search", **here, table="author")
    pages.write("#fieldID_1", "Émile Zola")
    pages.click("input[name=submit]")
    pages.until(lambda: "Showing rows 0 - 0 (1 total" in pages.text(), "not found")
    pages.clean("search")
    pages.click("a.edit_row_anchor, td.edit_row_anchor a")
    pages.write("[id='field_2_3']", "Émile Édouard Zola")
    pages.click("#buttonYes")
    pages.until(lambda: "1 row affected" in pages.text(), "no row changed")
    pages.clean("update")
    seen = pages.run("SELECT name, CHAR_LENGTH(name) FROM author ORDER BY id DESC", **here)
    assert "Émile Édouard Zola" in seen and "(4 total" in seen, seen

    # The table is altered by its forms.
    pages.open("/table/structure", **here, table="author")
    pages.click("form#addColumns input[type=submit]")
    pages.write("[name='field_name[0]']", "country")
    Select(pages.one("[name='field_type[0]']")).select_by_visible_text("VARCHAR")
    pages.write("[name='field_length[0]']", "30")
    pages.click("input[name=do_save_data]")
    pages.until(lambda: "Table author has been altered successfully" in pages.text() or pages.all(".alert-danger"), "not altered")
    pages.clean("add column")

    # Statements that fail are shown as such, with the server's number.
    try:
        pages.run("SELECT nothing FROM author", **here)
    except AssertionError as e:
        assert "#1054" in str(e), e
    else:
        raise AssertionError("no error for an unknown column")

    # A dump, which goes into another database by the import form.
    pages.open("/database/export", **here)
    pages.click("#buttonGo")
    file = f"{DATABASE}.sql"
    pages.until(lambda: os.path.exists(file) and not os.path.exists(file + ".crdownload"), "no dump")
    other = f"{DATABASE}_copy"
    pages.run(f"DROP DATABASE IF EXISTS {other}; CREATE DATABASE {other}")
    pages.open("/database/import", db=other)
    pages.one("#input_import_file").send_keys(os.path.abspath(file))
    pages.click("#buttonGo")
    pages.until(lambda: "Import has been successfully finished" in pages.text() or pages.all(".alert-danger"), "no import")
    pages.clean("import")
    for table, columns in [("author", "id, name, IFNULL(born, '-'), country"),
                           ("book", "id, author, title, price, kind, tags, text, HEX(cover), HEX(flag), changed, length")]:
        sums = [f"(SELECT SUM(CRC32(CONCAT_WS('|', {columns}))) FROM {database}.{table})" for database in (DATABASE, other)]
        alike = pages.run(f"SELECT 'alike' FROM DUAL WHERE {sums[0]} = {sums[1]}")
        assert "(1 total" in alike, f"{table}: {alike}"

    # An account is made, and goes.
    pages.run(f"DROP DATABASE {other}")
    pages.open("/server/privileges", adduser="1")
    pages.write("[name=username]", "visitor")
    for field in ["pma_pw", "pma_pw2"]:
        pages.write(f"[name={field}]", "Long enough 1")
    pages.click("#adduser_submit")
    pages.until(lambda: "You have added a new user" in pages.text() or pages.all(".alert-danger"), "no account")
    pages.clean("add user")
    pages.open("/server/privileges", username="visitor", hostname="%")
    pages.run("DROP USER visitor@'%'")
    pages.run("DROP VIEW shelf; DROP TABLE book, author", **here)


port = port_of_nobody()
server = php(port)
browser = None
try:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    browser = chromium()
    pages = Pages(browser, f"http://127.0.0.1:{port}")
    pages.log_in()
    a_person_at_work(pages)
except BaseException:
    if browser:
        browser.save_screenshot("page.png")
        print(browser.current_url, browser.find_element(By.TAG_NAME, "body").text, sep="\n")
    raise
finally:
    if browser:
        browser.quit()
    server.terminate()
    server.wait()
    shutil.rmtree("browser", ignore_errors=True)
