<?php
// PDO, with emulated and with real prepared statements, and mysqli: what most PHP applications stand on.
$host = getenv('CLIENTS_HOST'); $port = (int) getenv('CLIENTS_PORT'); $user = getenv('CLIENTS_USER');
$password = getenv('CLIENTS_PASSWORD'); $database = getenv('CLIENTS_DATABASE');
error_reporting(E_ALL);
set_error_handler(function ($n, $text, $file, $line) { throw new ErrorException("$text, line $line"); });

function same($got, $wanted, $what) {
    if ($got !== $wanted) {
        throw new Exception("$what: " . var_export($got, true) . " for " . var_export($wanted, true));
    }
}

function refused($work, $class, $code, $state) {
    try {
        $work();
    } catch (Exception $e) {
        same(get_class($e), $class, 'the class');
        same($e instanceof PDOException ? $e->errorInfo[1] : $e->getCode(), $code, 'the number');
        same($e instanceof PDOException ? $e->getCode() : $e->getSqlState(), $state, 'the state');
        return;
    }
    throw new Exception("no error $code");
}

foreach ([true, false] as $emulated) {
    $pdo = new PDO("mysql:host=$host;port=$port;dbname=$database;charset=utf8mb4", $user, $password,
        [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => $emulated, PDO::MYSQL_ATTR_FOUND_ROWS => true]);
    $pdo->exec('CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30) NOT NULL UNIQUE, price DECIMAL(10,2), f DOUBLE, at DATETIME(3), raw BLOB, txt MEDIUMTEXT)');
    $pdo->exec('CREATE TABLE c (id INT PRIMARY KEY, t_id INT, FOREIGN KEY (t_id) REFERENCES t (id) ON DELETE CASCADE)');
    $in = $pdo->prepare('INSERT INTO t (name, price, f, at, raw, txt) VALUES (:name, :price, :f, :at, :raw, :txt)');
    foreach (range(1, 30) as $n) {
        $in->execute(['name' => "n$n", 'price' => $n / 4, 'f' => $n / 3, 'at' => '2024-02-29 01:02:03.456', 'raw' => "\0'\"\\" . chr(200), 'txt' => "ü😀\n$n"]);
    }
    same($pdo->lastInsertId(), '30', 'the last id');
    $out = $pdo->prepare('SELECT id, name, price, f, at, raw, txt FROM t WHERE id = ? AND price > ?');
    $out->bindValue(1, 6, PDO::PARAM_INT);
    $out->bindValue(2, '1.25');
    $out->execute();
    $row = $out->fetch(PDO::FETCH_ASSOC);
    same($row, ['id' => 6, 'name' => 'n6', 'price' => '1.50', 'f' => 2.0, 'at' => '2024-02-29 01:02:03.456', 'raw' => "\0'\"\\" . chr(200), 'txt' => "ü😀\n6"], 'a row');
    same($out->getColumnMeta(2)['native_type'], 'NEWDECIMAL', 'a type');
    $out->closeCursor();
    same($pdo->exec('UPDATE t SET price = price WHERE id <= 5'), 5, 'found rows');
    $pdo->exec('INSERT INTO c VALUES (1, 1), (2, 2)');
    refused(fn() => $pdo->exec("INSERT INTO t (name) VALUES ('n1')"), 'PDOException', 1062, '23000');
    refused(fn() => $pdo->exec('INSERT INTO c VALUES (3, 99)'), 'PDOException', 1452, '23000');
    refused(fn() => $pdo->exec('INSERT INTO t (name) VALUES (NULL)'), 'PDOException', 1048, '23000');
    refused(fn() => $pdo->query('SELEC'), 'PDOException', 1064, '42000');
    refused(fn() => $pdo->query('SELECT * FROM nope'), 'PDOException', 1146, '42S02');
    $pdo->beginTransaction();
    $pdo->exec('DELETE FROM t');
    same($pdo->inTransaction(), true, 'in a transaction');
    $pdo->rollBack();
    same($pdo->query('SELECT t.name, COUNT(c.id) n FROM t LEFT JOIN c ON c.t_id = t.id GROUP BY t.name ORDER BY n DESC, t.name LIMIT 3')->fetchAll(PDO::FETCH_KEY_PAIR), ['n1' => 1, 'n2' => 1, 'n10' => 0], 'a join');
    $pdo->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
    same(count($pdo->query('SELECT * FROM t')->fetchAll()), 30, 'unbuffered rows');
    $pdo->exec('ALTER TABLE t ADD COLUMN more INT DEFAULT 3, DROP COLUMN f');
    if ($emulated) {
        $sets = $pdo->query('SELECT 1; SELECT COUNT(*) FROM t');
        $sets->nextRowset();
        same($sets->fetchColumn(), 30, 'a second result');
        $sets->closeCursor();
    }
    $pdo->exec('DROP TABLE c, t');
}

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$m = new mysqli($host, $user, $password, $database, $port);
$m->set_charset('utf8mb4');
$m->query('CREATE TABLE m (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(20) UNIQUE, n BIGINT UNSIGNED, d DOUBLE, b LONGBLOB)');
$s = $m->prepare('INSERT INTO m (s, n, d, b) VALUES (?, ?, ?, ?)');
$blob = null;
foreach (range(1, 3) as $n) {
    $name = "s$n"; $big = '18446744073709551615'; $d = $n / 2;
    $s->bind_param('ssdb', $name, $big, $d, $blob);
    $s->send_long_data(3, str_repeat('x', 100000));
    $s->send_long_data(3, "\0");
    $s->execute();
}
same([$s->insert_id, $s->affected_rows], [3, 1], 'what an insertion says');
$s = $m->prepare('SELECT s, n, d, LENGTH(b) FROM m WHERE id > ? ORDER BY id');
$from = 1;
$s->bind_param('i', $from);
$s->execute();
same($s->get_result()->fetch_all(), [['s2', '18446744073709551615', 1.0, 100001], ['s3', '18446744073709551615', 1.5, 100001]], 'rows');
same($m->execute_query('SELECT s FROM m WHERE id = ?', [1])->fetch_column(), 's1', 'execute_query');
refused(fn() => $m->query("INSERT INTO m (s) VALUES ('s1')"), 'mysqli_sql_exception', 1062, '23000');
$m->begin_transaction(MYSQLI_TRANS_START_WITH_CONSISTENT_SNAPSHOT);
$m->query('DELETE FROM m');
$m->savepoint('a');
$m->rollback();
$m->multi_query('SELECT 1; INSERT INTO m (s) VALUES (\'s4\'); SELECT COUNT(*) FROM m');
$last = null;
do {
    if ($r = $m->store_result()) { $last = $r->fetch_row()[0]; }
} while ($m->more_results() && $m->next_result());
same($last, '4', 'a third result');
same($m->query('SELECT * FROM m')->fetch_field_direct(1)->length, 80, 'a length');
$m->change_user($user, $password, $database);
same(str_contains($m->stat(), 'Uptime'), true, 'stat');
$m->query('DROP TABLE m');
$m->close();
