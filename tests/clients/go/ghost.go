// gh-ost changes a table while four clients change its rows. Each client knows what its rows are to be.
package main

import (
	"database/sql"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	ghostRows    = 100000
	ghostWorkers = 4
)

type ghostRow struct {
	balance int64
	note    string
}

// Changes rows of its own until told to end.
func ghostWork(db *sql.DB, worker int, rows map[int]ghostRow, end *atomic.Bool) {
	r := rand.New(rand.NewSource(int64(worker)))
	next := ghostRows + worker
	own := make([]int, 0, len(rows))
	for id := range rows {
		own = append(own, id)
	}
	for n := 0; !end.Load(); n++ {
		// gh-ost follows with one connection.
		time.Sleep(time.Millisecond)
		switch id := own[r.Intn(len(own))]; {
		case n%5 == 0:
			row := ghostRow{r.Int63n(1 << 40), fmt.Sprint("größer ", n)}
			_, err := db.Exec("INSERT INTO orders (id, owner, balance, note) VALUES (?, ?, ?, ?)", next, worker, row.balance, row.note)
			must(err)
			rows[next] = row
			own = append(own, next)
			next += ghostWorkers
		case n%11 == 1:
			result, err := db.Exec("DELETE FROM orders WHERE id = ?", id)
			must(err)
			gone, _ := result.RowsAffected()
			_, there := rows[id]
			same("rows deleted", gone == 1, there)
			delete(rows, id)
		default:
			row, there := rows[id]
			if !there {
				continue
			}
			row = ghostRow{row.balance + int64(n), fmt.Sprint("note ", n)}
			result, err := db.Exec("UPDATE orders SET balance = balance + ?, note = ? WHERE id = ?", n, row.note, id)
			must(err)
			changed, _ := result.RowsAffected()
			same("rows changed", changed, int64(1))
			rows[id] = row
		}
	}
}

func useGhost() {
	db, err := sql.Open("mysql", dsn(""))
	must(err)
	db.SetMaxOpenConns(ghostWorkers + 1)
	_, err = db.Exec("CREATE TABLE orders (id BIGINT PRIMARY KEY, owner INT NOT NULL, balance BIGINT NOT NULL, note VARCHAR(40) NOT NULL, at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3))")
	must(err)
	models := make([]map[int]ghostRow, ghostWorkers)
	for n := range models {
		models[n] = map[int]ghostRow{}
	}
	for from := 0; from < ghostRows; from += 1000 {
		var values []string
		for id := from; id < from+1000; id++ {
			models[id%ghostWorkers][id] = ghostRow{int64(id), "old"}
			values = append(values, fmt.Sprintf("(%d, %d, %d, 'old')", id, id%ghostWorkers, id))
		}
		_, err = db.Exec("INSERT INTO orders (id, owner, balance, note) VALUES " + strings.Join(values, ", "))
		must(err)
	}

	var end atomic.Bool
	var all sync.WaitGroup
	failed := make(chan any, ghostWorkers)
	for n, rows := range models {
		all.Go(func() {
			defer func() {
				if why := recover(); why != nil {
					failed <- why
				}
			}()
			ghostWork(db, n, rows, &end)
		})
	}
	ghost := exec.Command(filepath.Join(os.Getenv("CLIENTS_CACHE"), "go", "gh-ost"),
		"--host="+os.Getenv("CLIENTS_HOST"), "--port="+os.Getenv("CLIENTS_PORT"), "--user="+os.Getenv("CLIENTS_USER"), "--password="+os.Getenv("CLIENTS_PASSWORD"),
		"--database="+os.Getenv("CLIENTS_DATABASE"), "--table=orders", "--allow-on-master", "--chunk-size=500", "--execute", "--verbose",
		"--serve-socket-file="+filepath.Join(os.TempDir(), fmt.Sprint("gh-ost.", os.Getpid(), ".sock")),
		"--alter=ADD COLUMN extra INT NOT NULL DEFAULT 7, ADD KEY by_owner (owner), MODIFY note VARCHAR(400) NOT NULL, DROP COLUMN at")
	said, err := ghost.CombinedOutput()
	// They go on with the new table.
	time.Sleep(200 * time.Millisecond)
	end.Store(true)
	all.Wait()
	select {
	case why := <-failed:
		panic(fmt.Sprintf("beside gh-ost: %v", why))
	default:
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		panic(fmt.Sprintf("gh-ost: %v: %s", err, strings.Join(lines[max(0, len(lines)-3):], " | ")))
	}
	fmt.Println(string(said))

	rows, err := db.Query("SELECT id, owner, balance, note, extra FROM orders FORCE INDEX (by_owner)")
	must(err)
	found := 0
	for rows.Next() {
		var (
			id, owner, extra int
			row              ghostRow
		)
		must(rows.Scan(&id, &owner, &row.balance, &row.note, &extra))
		same(fmt.Sprint("row ", id), row, models[owner][id])
		same("the new column", extra, 7)
		found++
	}
	must(rows.Err())
	wanted := 0
	for _, rows := range models {
		wanted += len(rows)
	}
	same("rows", found, wanted)
	var columns, old int
	must(db.QueryRow("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'orders'").Scan(&columns))
	same("columns", columns, 5)
	must(db.QueryRow("SELECT COUNT(*) FROM _orders_del").Scan(&old))
	if old < ghostRows/2 {
		panic(fmt.Sprint("the old table has ", old))
	}
}
