// gorm, golang-migrate, canal, gh-ost and the driver below them: go run . driver|gorm|migrate|canal|gh-ost
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"
	"time"

	driver "github.com/go-sql-driver/mysql"
)

func dsn(more string) string {
	return fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?parseTime=true%s", os.Getenv("CLIENTS_USER"), os.Getenv("CLIENTS_PASSWORD"),
		os.Getenv("CLIENTS_HOST"), os.Getenv("CLIENTS_PORT"), os.Getenv("CLIENTS_DATABASE"), more)
}

func must(err error) {
	if err != nil {
		log.Panicln(err)
	}
}

func same(what string, got, wanted any) {
	if !reflect.DeepEqual(got, wanted) {
		log.Panicf("%s: %v for %v", what, got, wanted)
	}
}

func refused(err error, number uint16) {
	var e *driver.MySQLError
	if !errors.As(err, &e) || e.Number != number {
		log.Panicf("%v where %d was expected", err, number)
	}
}

func main() {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(r)
			os.Exit(1)
		}
	}()
	map[string]func(){"driver": plain, "gorm": useGorm, "migrate": useMigrate, "canal": useCanal, "gh-ost": useGhost}[os.Args[1]]()
}

func plain() {
	for _, more := range []string{"", "&interpolateParams=true", "&compress=true", "&clientFoundRows=true&multiStatements=true", "&collation=utf8mb4_unicode_ci&tls=skip-verify"} {
		if more == "&collation=utf8mb4_unicode_ci&tls=skip-verify" && os.Getenv("CLIENTS_KIND") == "mariadb" {
			continue
		}
		db, err := sql.Open("mysql", dsn(more))
		must(err)
		db.SetMaxOpenConns(4)
		exec := func(text string, args ...any) sql.Result {
			r, err := db.Exec(text, args...)
			must(err)
			return r
		}
		exec("CREATE TABLE t (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30) UNIQUE, price DECIMAL(10,2), at DATETIME(6), raw BLOB, f DOUBLE, n INT NULL, u BIGINT UNSIGNED, doc JSON)")
		at := time.Date(2024, 2, 29, 1, 2, 3, 456789000, time.UTC)
		for n := range 20 {
			r := exec("INSERT INTO t (name, price, at, raw, f, u, doc) VALUES (?, ?, ?, ?, ?, ?, ?)", fmt.Sprint("n", n), float64(n)/4, at, []byte{0, 255, '\''}, float64(n)/3, uint64(1)<<63, `{"a":1}`)
			id, _ := r.LastInsertId()
			same("an id", id, int64(n+1))
		}
		var (
			name, price string
			back        time.Time
			raw         []byte
			f           float64
			none        sql.NullInt64
			u           uint64
		)
		must(db.QueryRow("SELECT name, price, at, raw, f, n, u FROM t WHERE id = ?", 4).Scan(&name, &price, &back, &raw, &f, &none, &u))
		same("a row", []any{name, price, back.Equal(at), raw, f, none.Valid, u}, []any{"n3", "0.75", true, []byte{0, 255, '\''}, 1.0, false, uint64(1) << 63})
		_, err = db.Exec("INSERT INTO t (name) VALUES (?)", "n1")
		refused(err, 1062)
		_, err = db.Exec("SELEC")
		refused(err, 1064)
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		must(err)
		_, err = tx.Exec("DELETE FROM t")
		must(err)
		must(tx.Rollback())
		tx, err = db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
		must(err)
		_, err = tx.Exec("DELETE FROM t")
		refused(err, 1792)
		must(tx.Rollback())
		rows, err := db.Query("SELECT * FROM t ORDER BY id")
		must(err)
		types, _ := rows.ColumnTypes()
		kinds := ""
		for _, t := range types {
			kinds += t.DatabaseTypeName() + " "
		}
		if os.Getenv("CLIENTS_KIND") != "mariadb" {
			same("types", kinds, "UNSIGNED BIGINT VARCHAR DECIMAL DATETIME BLOB DOUBLE INT UNSIGNED BIGINT JSON ")
		}
		count := 0
		for rows.Next() {
			count++
		}
		must(rows.Err())
		same("rows", count, 20)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_, err = db.ExecContext(ctx, "SELECT SLEEP(5)")
		if !errors.Is(err, context.DeadlineExceeded) {
			log.Panicln(err)
		}
		cancel()
		exec("DROP TABLE t")
		must(db.Close())
	}
}
