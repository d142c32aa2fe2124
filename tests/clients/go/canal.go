// go-mysql's canal: copies two tables with mysqldump, follows the binary log from there, and has what SELECT gives at the end.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-mysql-org/go-mysql/canal"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/go-mysql-org/go-mysql/schema"
)

// What canal has told of the rows of a table: by key, then by column.
type copied struct {
	canal.DummyEventHandler
	lock   sync.Mutex
	tables map[string]map[string]map[string]string
	ddl    []string
	gtids  int
}

func (c *copied) OnRow(e *canal.RowsEvent) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	rows := c.tables[e.Table.Name]
	if rows == nil {
		rows = map[string]map[string]string{}
		c.tables[e.Table.Name] = rows
	}
	key := func(row []any) string {
		var parts []string
		for _, i := range e.Table.PKColumns {
			parts = append(parts, fmt.Sprint(row[i]))
		}
		return strings.Join(parts, "-")
	}
	put := func(row []any) {
		texts := map[string]string{}
		for i, v := range row {
			texts[e.Table.Columns[i].Name] = told(&e.Table.Columns[i], v)
		}
		rows[key(row)] = texts
	}
	gone := func(row []any) error {
		if _, there := rows[key(row)]; !there {
			return fmt.Errorf("%s of %s, which is not there", e.Action, key(row))
		}
		delete(rows, key(row))
		return nil
	}
	switch e.Action {
	case canal.InsertAction:
		for _, row := range e.Rows {
			put(row)
		}
	case canal.DeleteAction:
		for _, row := range e.Rows {
			if err := gone(row); err != nil {
				return err
			}
		}
	case canal.UpdateAction:
		for i := 0; i < len(e.Rows); i += 2 {
			if err := gone(e.Rows[i]); err != nil {
				return err
			}
			put(e.Rows[i+1])
		}
	}
	return nil
}

func (c *copied) OnDDL(_ *replication.EventHeader, _ mysql.Position, e *replication.QueryEvent) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.ddl = append(c.ddl, string(e.Query))
	return nil
}

func (c *copied) OnGTID(*replication.EventHeader, mysql.BinlogGTIDEvent) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.gtids++
	return nil
}

// A value of canal as the text that SELECT gives.
func told(column *schema.TableColumn, v any) string {
	if b, is := v.([]byte); is {
		v = string(b)
	}
	if v == nil {
		return "NULL"
	}
	switch n, is := v.(int64); {
	case is && column.Type == schema.TYPE_ENUM:
		return column.EnumValues[n-1]
	case is && column.Type == schema.TYPE_SET:
		var names []string
		for i, name := range column.SetValues {
			if n&(1<<i) != 0 {
				names = append(names, name)
			}
		}
		return strings.Join(names, ",")
	}
	return plainly(column.Type, fmt.Sprint(v))
}

// One text for each value, where there are several.
func plainly(kind int, text string) string {
	switch kind {
	case schema.TYPE_JSON:
		var doc any
		must(json.Unmarshal([]byte(text), &doc))
		return fmt.Sprint(doc)
	case schema.TYPE_FLOAT:
		n, err := strconv.ParseFloat(text, 64)
		must(err)
		return fmt.Sprint(n)
	case schema.TYPE_DECIMAL:
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
	}
	return text
}

// The rows of a table, as canal has to have them.
func chosen(db *sql.DB, table *schema.Table) map[string]map[string]string {
	rows, err := db.Query("SELECT * FROM " + table.Name)
	must(err)
	defer rows.Close()
	names, err := rows.Columns()
	must(err)
	all := map[string]map[string]string{}
	for rows.Next() {
		values := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		must(rows.Scan(into...))
		row := map[string]string{}
		var key []string
		for i, v := range values {
			row[names[i]] = "NULL"
			if v.Valid {
				row[names[i]] = plainly(table.Columns[i].Type, v.String)
			}
		}
		for _, i := range table.PKColumns {
			key = append(key, values[i].String)
		}
		all[strings.Join(key, "-")] = row
	}
	must(rows.Err())
	return all
}

func text(r *rand.Rand) string {
	return []string{"", "plain", "it''s", "größer €", "a\\\\b", "line\\nline", "NULL", strings.Repeat("long ", 300)}[r.Intn(8)]
}

// Changes as an application makes them.
func changes(db *sql.DB, seed int64, times int) {
	r := rand.New(rand.NewSource(seed))
	for range times {
		tx, err := db.Begin()
		must(err)
		for range 1 + r.Intn(3) {
			id := r.Intn(600)
			var statement string
			switch r.Intn(8) {
			case 0, 1:
				statement = fmt.Sprintf("INSERT IGNORE INTO accounts (id, owner, balance, flags, kind, at, seen, raw, note, doc, n, tiny, f) VALUES (%d, '%s', %d.%04d, 'c,a', 'ü', '2024-02-29 01:02:03.%03d', '2024-01-01 00:00:00.%06d', x'00ff%02x', '%s', '{\"n\": [%d, \"x\", null, 2.5]}', %d, %d, %d / 7)",
					id, text(r), r.Int63()-1<<62, r.Intn(10000), r.Intn(1000), r.Intn(1000000), r.Intn(256), text(r), r.Intn(1<<20), r.Uint32(), r.Intn(256), r.Intn(1000))
			case 2, 3:
				statement = fmt.Sprintf("UPDATE accounts SET balance = -balance, flags = 'b', kind = NULL, note = '%s', tiny = 255 - tiny, f = -f WHERE id BETWEEN %d AND %d", text(r), id, id+r.Intn(4))
			case 4:
				statement = fmt.Sprintf("DELETE FROM accounts WHERE id = %d", id)
			case 5:
				statement = fmt.Sprintf("REPLACE INTO ledger VALUES (%d, %d, %d.25)", id%20, id%7, id)
			case 6:
				statement = fmt.Sprintf("UPDATE IGNORE ledger SET b = b + 10 WHERE a = %d", id%20)
			case 7:
				statement = fmt.Sprintf("INSERT INTO ledger VALUES (%d, %d, 1) ON DUPLICATE KEY UPDATE amount = amount + 1", id%20, id%7)
			}
			if _, err = tx.Exec(statement); err != nil {
				break
			}
		}
		if err != nil || r.Intn(8) == 0 {
			// Also after a deadlock.
			_ = tx.Rollback()
			continue
		}
		must(tx.Commit())
	}
}

func together(db *sql.DB, seed int64) {
	var all sync.WaitGroup
	failed := make(chan any, 4)
	for n := range int64(4) {
		all.Go(func() {
			defer func() {
				if why := recover(); why != nil {
					failed <- why
				}
			}()
			changes(db, seed+n, 150)
		})
	}
	all.Wait()
	select {
	case why := <-failed:
		panic(why)
	default:
	}
}

func useCanal() {
	mariadb := os.Getenv("CLIENTS_KIND") == "mariadb"
	database := os.Getenv("CLIENTS_DATABASE")
	db, err := sql.Open("mysql", dsn("&loc=UTC&time_zone=%27%2B00%3A00%27&parseTime=false"))
	must(err)
	for _, statement := range []string{
		"CREATE TABLE accounts (id INT PRIMARY KEY, owner VARCHAR(2000), balance DECIMAL(30,4), flags SET('a','b','c'), kind ENUM('x','ü'), at DATETIME(3), seen TIMESTAMP(6) NULL, raw VARBINARY(40), note TEXT, doc JSON, n INT UNSIGNED, tiny TINYINT UNSIGNED, f DOUBLE)",
		"CREATE TABLE ledger (a INT, b INT, amount DECIMAL(12,2), PRIMARY KEY (a, b))",
	} {
		_, err = db.Exec(statement)
		must(err)
	}
	changes(db, 7, 300)

	begin := func(into *copied, dump string) *canal.Canal {
		c := canal.NewDefaultConfig()
		c.Addr = os.Getenv("CLIENTS_HOST") + ":" + os.Getenv("CLIENTS_PORT")
		c.User, c.Password = os.Getenv("CLIENTS_USER"), os.Getenv("CLIENTS_PASSWORD")
		c.ServerID = 4713
		c.Flavor = mysql.MySQLFlavor
		if mariadb {
			c.Flavor = mysql.MariaDBFlavor
		}
		c.UseDecimal = true
		c.TimestampStringLocation = time.UTC
		c.IncludeTableRegex = []string{database + "\\..*"}
		c.Dump.ExecutionPath = dump
		// Without it MariaDB's mysqldump asks for modes that MySQL has not had since 8.0.
		c.Dump.ExtraOptions = []string{"--create-options"}
		c.Dump.TableDB = database
		c.Dump.Tables = []string{"accounts", "ledger"}
		c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
		made, err := canal.NewCanal(c)
		must(err)
		made.SetEventHandler(into)
		return made
	}
	seen := &copied{tables: map[string]map[string]map[string]string{}}
	ended := make(chan error, 1)
	c := begin(seen, "mysqldump")
	go func() { ended <- c.Run() }()
	select {
	case <-c.WaitDumpDone():
	case err := <-ended:
		must(err)
	}
	caughtUp := func(c *canal.Canal) {
		err := c.CatchMasterPos(20 * time.Second)
		select {
		case why := <-ended:
			panic(fmt.Sprint("canal has ended: ", why))
		default:
			must(err)
		}
	}
	compare := func(c *canal.Canal, what string) {
		seen.lock.Lock()
		defer seen.lock.Unlock()
		for _, name := range []string{"accounts", "ledger"} {
			table, err := c.GetTable(database, name)
			must(err)
			wanted := chosen(db, table)
			if len(wanted) < 20 {
				panic(fmt.Sprint(name, " has only ", len(wanted)))
			}
			same(what+": rows of "+name, len(seen.tables[name]), len(wanted))
			for key, row := range wanted {
				got := seen.tables[name][key]
				if got != nil && row["extra"] != "" && got["extra"] == "" {
					// It was there before the column.
					got["extra"] = "5"
				}
				if !reflect.DeepEqual(got, row) {
					panic(fmt.Sprintf("%s: %s %s: %.500v for %.500v", what, name, key, got, row))
				}
			}
		}
	}
	caughtUp(c)
	compare(c, "copied")
	together(db, 100)
	caughtUp(c)
	compare(c, "followed")
	_, err = db.Exec("ALTER TABLE accounts ADD COLUMN extra INT NOT NULL DEFAULT 5 AFTER owner, DROP COLUMN f")
	must(err)
	caughtUp(c)
	seen.lock.Lock()
	for _, row := range seen.tables["accounts"] {
		delete(row, "f")
	}
	if len(seen.ddl) == 0 || !strings.Contains(seen.ddl[len(seen.ddl)-1], "ADD COLUMN extra") {
		panic(fmt.Sprint("the ALTER is not among ", seen.ddl))
	}
	seen.lock.Unlock()
	alter := func(n int) {
		for id := range 40 {
			_, err := db.Exec(fmt.Sprintf("UPDATE accounts SET extra = %d WHERE id = %d", n+id, id))
			must(err)
		}
	}
	alter(1000)
	caughtUp(c)
	compare(c, "altered")

	// What was done meanwhile is read by another one, from where the first has ended.
	at := c.SyncedPosition()
	set, err := c.GetMasterGTIDSet()
	must(err)
	c.Close()
	<-ended
	alter(2000)
	c = begin(seen, "")
	go func() {
		if mariadb {
			ended <- c.RunFrom(at)
		} else {
			ended <- c.StartFromGTID(set)
		}
	}()
	alter(3000)
	deadline := time.Now().Add(30 * time.Second)
	for c.SyncedPosition().Name == "" && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	caughtUp(c)
	compare(c, "went on")
	if seen.gtids < 300 {
		panic(fmt.Sprint("only ", seen.gtids, " transactions had a GTID"))
	}
	c.Close()
}
