package main

import (
	"database/sql"
	"errors"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database/mysql"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"testing/fstest"
)

func useMigrate() {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	files := fstest.MapFS{
		"m/1_first.up.sql":   file("CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY, a_id INT, FOREIGN KEY (a_id) REFERENCES a (id)); INSERT INTO a VALUES (1), (2);"),
		"m/1_first.down.sql": file("DROP TABLE b; DROP TABLE a;"),
		"m/2_next.up.sql":    file("ALTER TABLE a ADD COLUMN name VARCHAR(20) NOT NULL DEFAULT 'x', ADD INDEX (name); UPDATE a SET name = CONCAT('n', id);"),
		"m/2_next.down.sql":  file("ALTER TABLE a DROP COLUMN name;"),
		"m/3_bad.up.sql":     file("ALTER TABLE a ADD COLUMN more INT; ALTER TABLE nope ADD COLUMN x INT;"),
		"m/3_bad.down.sql":   file("SELECT 1;"),
	}
	source, err := iofs.New(files, "m")
	must(err)
	db, err := sql.Open("mysql", dsn("&multiStatements=true"))
	must(err)
	target, err := mysql.WithInstance(db, &mysql.Config{})
	must(err)
	m, err := migrate.NewWithInstance("iofs", source, "mysql", target)
	must(err)
	must(m.Migrate(2))
	var name string
	must(db.QueryRow("SELECT name FROM a WHERE id = 2").Scan(&name))
	same("a row", name, "n2")
	if err := m.Up(); err == nil {
		panic("a bad migration was taken")
	}
	version, dirty, err := m.Version()
	must(err)
	same("a version", []any{version, dirty}, []any{uint(3), true})
	must(m.Force(2))
	if _, err := db.Exec("ALTER TABLE a DROP COLUMN more"); err != nil {
		panic(err)
	}
	must(m.Down())
	if err := m.Steps(-1); err == nil || errors.Is(err, migrate.ErrLocked) {
		panic("nothing was left to take back")
	}
	must(m.Drop())
}
