// Writes the tests that go-mysql-server keeps in lists as JSON lines, one unit a line: what is set up, and the
// statements with what is expected of each. It starts no engine and judges nothing.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dolthub/go-mysql-server/enginetest/queries"
	"github.com/dolthub/go-mysql-server/enginetest/scriptgen/setup"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/shopspring/decimal"
)

// A cell: its kind, and its text.
//
//	n NULL   i a whole number   d a decimal   f a double   g a float   s text   x bytes in hexadecimal
//	t a date with its time   j JSON   o affected rows and the last id of an OK   ? a value that has no text here
type cell [2]string

type step struct {
	// Names the session; empty is the unit's own.
	Client string `json:"client,omitempty"`
	SQL    string `json:"sql"`
	// The rows; null where nothing is expected but success.
	Rows *[][]cell `json:"rows"`
	// It must be refused.
	Error bool `json:"error,omitempty"`
	// The number of a warning that must be there.
	Warning int `json:"warning,omitempty"`
}

type unit struct {
	List string `json:"list"`
	Name string `json:"name"`
	// What makes the tables that many units have; what fails there is no failure of the unit.
	Shared []string `json:"shared"`
	Setup  []string `json:"setup"`
	Steps  []step   `json:"steps"`
}

type writer struct {
	out *json.Encoder
	// Tests that could not be told: they bind values by names that no server knows, or are left out by their list.
	left int
}

func (w *writer) put(u unit) {
	if len(u.Steps) == 0 {
		return
	}
	if u.Setup == nil {
		u.Setup = []string{}
	}
	if err := w.out.Encode(u); err != nil {
		panic(err)
	}
}

func of(v interface{}) cell {
	switch x := v.(type) {
	case nil:
		return cell{"n", ""}
	case bool:
		if x {
			return cell{"i", "1"}
		}
		return cell{"i", "0"}
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return cell{"i", fmt.Sprint(x)}
	case float32:
		return cell{"g", strconv.FormatFloat(float64(x), 'g', -1, 32)}
	case float64:
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return cell{"?", "double"}
		}
		return cell{"f", strconv.FormatFloat(x, 'g', -1, 64)}
	case decimal.Decimal:
		return cell{"d", x.StringFixed(-x.Exponent())}
	case string:
		return text(x)
	case []byte:
		return text(string(x))
	case time.Time:
		return cell{"t", x.Format("2006-01-02 15:04:05.999999")}
	case types.Timespan:
		return cell{"s", x.String()}
	case types.OkResult:
		return cell{"o", fmt.Sprintf("%d %d", x.RowsAffected, x.InsertID)}
	case sql.JSONWrapper:
		plain, err := x.ToInterface()
		if err != nil {
			return cell{"?", err.Error()}
		}
		doc, err := json.Marshal(plain)
		if err != nil {
			return cell{"?", err.Error()}
		}
		return cell{"j", string(doc)}
	}
	return cell{"?", fmt.Sprintf("%T", v)}
}

func text(s string) cell {
	if utf8.ValidString(s) {
		return cell{"s", s}
	}
	return cell{"x", hex.EncodeToString([]byte(s))}
}

func rows(expected []sql.Row) *[][]cell {
	if expected == nil {
		return nil
	}
	all := [][]cell{}
	for _, row := range expected {
		cells := []cell{}
		for _, v := range row {
			cells = append(cells, of(v))
		}
		all = append(all, cells)
	}
	return &all
}

func together(scripts ...[]setup.SetupScript) []string {
	all := []string{"create database if not exists mydb", "use mydb"}
	for _, script := range scripts {
		for _, part := range script {
			all = append(all, part...)
		}
	}
	return all
}

func cut(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	letters := []rune(s)
	if len(letters) > 60 {
		return string(letters[:60])
	}
	return s
}

// queries whose answers are asked only; one unit for all of a list.
func (w *writer) asked(list string, of []queries.QueryTest, shared []string) {
	u := unit{List: list, Shared: shared}
	for _, t := range of {
		if t.Bindings != nil {
			w.left++
			continue
		}
		s := step{SQL: t.Query, Rows: rows(t.Expected)}
		if strings.Contains(t.Query, "sysdate()") {
			// What it says depends on whether a second ends meanwhile.
			s.Rows = nil
		}
		u.Steps = append(u.Steps, s)
	}
	w.put(u)
}

func (w *writer) written(list string, of []queries.WriteQueryTest, shared []string) {
	for n, t := range of {
		if t.Bindings != nil || t.Skip {
			w.left++
			continue
		}
		u := unit{List: list, Name: fmt.Sprintf("%d %s", n, cut(t.WriteQuery)), Shared: shared}
		u.Steps = append(u.Steps, step{SQL: t.WriteQuery, Rows: rows(t.ExpectedWriteResult)})
		if t.SelectQuery != "" {
			u.Steps = append(u.Steps, step{SQL: t.SelectQuery, Rows: rows(t.ExpectedSelect)})
		}
		w.put(u)
	}
}

func (w *writer) refused(list string, of []queries.QueryErrorTest, shared []string) {
	for n, t := range of {
		if t.Bindings != nil {
			w.left++
			continue
		}
		u := unit{List: list, Name: fmt.Sprintf("%d %s", n, cut(t.Query)), Shared: shared}
		u.Steps = append(u.Steps, step{SQL: t.Query, Error: true})
		w.put(u)
	}
}

func (w *writer) refusedToo(list string, of []queries.GenericErrorQueryTest, shared []string) {
	for n, t := range of {
		if t.Bindings != nil {
			w.left++
			continue
		}
		u := unit{List: list, Name: fmt.Sprintf("%d %s", n, cut(t.Name)), Shared: shared}
		u.Steps = append(u.Steps, step{SQL: t.Query, Error: true})
		w.put(u)
	}
}

// The session that a statement names: `/* client a */ select 1`.
func client(query string) string {
	from := strings.Index(query, "/*")
	to := strings.Index(query, "*/")
	if from < 0 || to < from {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(query[from+2:to], "client", ""))
}

func (w *writer) assertions(of []queries.ScriptTestAssertion, clients bool) []step {
	var steps []step
	session := 0
	for _, a := range of {
		if a.NewSession {
			session++
		}
		if a.Skip || a.Bindings != nil || (a.Dialect != "" && a.Dialect != "mysql") {
			w.left++
			continue
		}
		s := step{SQL: a.Query, Warning: a.ExpectedWarning}
		s.Error = a.ExpectedErr != nil || a.ExpectedErrStr != ""
		if !s.Error && !a.SkipResultsCheck {
			s.Rows = rows(a.Expected)
		}
		if session > 0 {
			s.Client = fmt.Sprintf("session %d", session)
		}
		if clients {
			s.Client = client(a.Query)
		}
		steps = append(steps, s)
	}
	return steps
}

func (w *writer) scripts(list string, of []queries.ScriptTest, shared []string) {
	seen := map[string]int{}
	for _, t := range of {
		if t.Dialect != "" && t.Dialect != "mysql" {
			w.left++
			continue
		}
		name := cut(t.Name)
		seen[name]++
		if seen[name] > 1 {
			name = fmt.Sprintf("%s %d", name, seen[name])
		}
		u := unit{List: list, Name: name, Shared: shared, Setup: t.SetUpScript}
		u.Steps = w.assertions(t.Assertions, false)
		if len(t.Assertions) == 0 && t.Query != "" {
			s := step{SQL: t.Query, Error: t.ExpectedErr != nil}
			if !s.Error {
				s.Rows = rows(t.Expected)
			}
			u.Steps = []step{s}
		}
		w.put(u)
	}
}

func (w *writer) transactions(list string, of []queries.TransactionTest) {
	for _, t := range of {
		u := unit{List: list, Name: cut(t.Name), Shared: together(), Setup: t.SetUpScript}
		u.Steps = w.assertions(t.Assertions, true)
		w.put(u)
	}
}

func (w *writer) collations() {
	for _, t := range queries.CharsetCollationEngineTests {
		u := unit{List: "CharsetCollationEngineTests", Name: cut(t.Name), Shared: together(), Setup: t.SetUpScript}
		for _, q := range t.Queries {
			s := step{SQL: q.Query, Error: q.Error || q.ErrKind != nil}
			if !s.Error {
				s.Rows = rows(q.Expected)
			}
			u.Steps = append(u.Steps, s)
		}
		w.put(u)
	}
	wire := func(list string, of []queries.CharsetCollationWireTest) {
		for _, t := range of {
			u := unit{List: list, Name: cut(t.Name), Shared: together(), Setup: t.SetUpScript}
			for _, q := range t.Queries {
				s := step{SQL: q.Query, Error: q.Error}
				if !s.Error {
					s.Rows = rows(q.Expected)
				}
				u.Steps = append(u.Steps, s)
			}
			w.put(u)
		}
	}
	wire("CharsetCollationWireTests", queries.CharsetCollationWireTests)
	wire("DatabaseCollationWireTests", queries.DatabaseCollationWireTests)
}

func (w *writer) rest() {
	u := unit{List: "ConvertTests", Shared: together(setup.TypestableData)}
	for _, t := range queries.ConvertTests {
		sql := fmt.Sprintf("select count(*) from typestable where %s %s %s", t.Field, t.Op, t.Operand)
		u.Steps = append(u.Steps, step{SQL: sql, Rows: &[][]cell{{of(t.ExpCnt)}}})
	}
	w.put(u)
	u = unit{List: "RegexTests", Shared: together(setup.MytableData)}
	for _, t := range queries.RegexTests {
		s := step{SQL: t.Query, Error: t.ExpectedErr != nil}
		if !s.Error {
			s.Rows = rows(t.Expected)
		}
		u.Steps = append(u.Steps, s)
	}
	w.put(u)
	u = unit{List: "CollationCoercionTests", Shared: together(), Setup: queries.CollationCoercionSetup}
	for _, t := range queries.CollationCoercionTests {
		for call, v := range map[string]string{"COERCIBILITY": fmt.Sprint(t.Coercibility), "COLLATION": t.Collation.Name()} {
			s := step{SQL: fmt.Sprintf("SELECT %s(%s) FROM temp_tbl LIMIT 1", call, t.Parameters), Error: t.Error}
			if !t.Error {
				s.Rows = &[][]cell{{text(v)}}
			}
			u.Steps = append(u.Steps, s)
		}
	}
	// A map has no order of its own.
	for n := 0; n+1 < len(u.Steps); n += 2 {
		if u.Steps[n].SQL > u.Steps[n+1].SQL {
			u.Steps[n], u.Steps[n+1] = u.Steps[n+1], u.Steps[n]
		}
	}
	w.put(u)
	for _, t := range queries.TypeWireTests {
		u := unit{List: "TypeWireTests", Name: cut(t.Name), Shared: together(), Setup: t.SetUpScript}
		for n, q := range t.Queries {
			u.Steps = append(u.Steps, step{SQL: q, Rows: rows(t.Results[n])})
		}
		w.put(u)
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gomysqlserver FILE")
		os.Exit(2)
	}
	file, err := os.Create(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buffered := bufio.NewWriter(file)
	w := &writer{out: json.NewEncoder(buffered)}
	w.out.SetEscapeHTML(false)
	w.all()
	if err := buffered.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("left out: %d\n", w.left)
}

// The lists, each with the tables that the engine's own runner gives to it.
func (w *writer) all() {
	d := func(s ...[]setup.SetupScript) []string { return together(s...) }
	simple := together(setup.SimpleSetup...)
	w.asked("QueryTests", queries.QueryTests, simple)
	w.asked("KeylessQueries", queries.KeylessQueries, simple)
	w.asked("JoinQueryTests", queries.JoinQueryTests, d(setup.MytableData, setup.Pk_tablesData, setup.OthertableData, setup.NiltableData, setup.XyData, setup.FooData))
	w.asked("BrokenQueries", queries.BrokenQueries, d(setup.MytableData, setup.Pk_tablesData, setup.Fk_tblData, setup.OthertableData))
	w.asked("InfoSchemaQueries", queries.InfoSchemaQueries, d(setup.MytableData, setup.Fk_tblData, setup.FooData))
	w.asked("DateParseQueries", queries.DateParseQueries, d())
	w.asked("NullRangeTests", queries.NullRangeTests, together(setup.NullsSetup...))
	w.asked("ComplexIndexQueries", queries.ComplexIndexQueries, together(setup.ComplexIndexSetup...))
	w.asked("BlobQueries", queries.BlobQueries, d(setup.BlobData, setup.MytableData))
	w.asked("ShowTableStatusQueries", queries.ShowTableStatusQueries, d(setup.MytableData, setup.OthertableData))
	w.asked("JSONTableQueryTests", queries.JSONTableQueryTests, d(setup.Pk_tablesData))
	w.asked("ViewTests", queries.ViewTests, append(d(setup.MytableData),
		"CREATE VIEW myview2 AS SELECT * FROM myview WHERE i = 1"))
	w.asked("OrdinalDDLQueries", queries.OrdinalDDLQueries, together(setup.OrdinalSetup...))

	w.written("InsertQueries", queries.InsertQueries, d(setup.MytableData, setup.Mytable_del_idxData, setup.KeylessData, setup.Keyless_idxData, setup.NiltableData, setup.TypestableData, setup.EmptytableData, setup.AutoincrementData, setup.OthertableData, setup.Othertable_del_idxData))
	w.written("ReplaceQueries", queries.ReplaceQueries, d(setup.MytableData, setup.Mytable_del_idxData, setup.TypestableData))
	updates := d(setup.MytableData, setup.Mytable_del_idxData, setup.FloattableData, setup.NiltableData, setup.TypestableData, setup.Pk_tablesData, setup.OthertableData, setup.TabletestData)
	w.written("UpdateTests", queries.UpdateTests, updates)
	w.written("UpdateIgnoreTests", queries.UpdateIgnoreTests, updates)
	w.written("DeleteTests", queries.DeleteTests, d(setup.MytableData, setup.TabletestData))
	w.written("DeleteJoinTests", queries.DeleteJoinTests, d(setup.MytableData, setup.TabletestData))
	w.written("CreateTableQueries", queries.CreateTableQueries, d(setup.MytableData, setup.FooData))
	w.written("BrokenCreateTableQueries", queries.BrokenCreateTableQueries, d(setup.MytableData))
	w.written("OrdinalDDLWriteQueries", queries.OrdinalDDLWriteQueries, together(setup.OrdinalSetup...))
	w.written("BlobWriteQueries", queries.BlobWriteQueries, d(setup.BlobData, setup.MytableData))

	w.refused("ErrorQueries", queries.ErrorQueries, d(setup.MytableData, setup.Pk_tablesData, setup.MyhistorytableData, setup.OthertableData, setup.SpecialtableData, setup.DatetimetableData, setup.NiltableData, setup.FooData))
	w.refused("BlobErrors", queries.BlobErrors, d(setup.BlobData, setup.MytableData))
	w.refused("UpdateErrorTests", queries.UpdateErrorTests, d(setup.KeylessData, setup.Keyless_idxData, setup.PeopleData, setup.Pk_tablesData))
	w.refused("VariableErrorTests", queries.VariableErrorTests, d())
	w.refusedToo("InsertErrorTests", queries.InsertErrorTests, together(setup.Mytable...))
	w.refusedToo("ReplaceErrorTests", queries.ReplaceErrorTests, d(setup.MytableData))
	w.refusedToo("GenericUpdateErrorTests", queries.GenericUpdateErrorTests, d(setup.MytableData, setup.FloattableData, setup.TypestableData))

	for _, l := range []struct {
		name string
		list []queries.ScriptTest
		with []string
	}{
		{"ScriptTests", queries.ScriptTests, d()},
		{"PreparedScriptTests", queries.PreparedScriptTests, d()},
		{"BrokenScriptTests", queries.BrokenScriptTests, d()},
		{"NumericErrorQueries", queries.NumericErrorQueries, d()},
		{"JoinScriptTests", queries.JoinScriptTests, d()},
		{"LateralJoinScriptTests", queries.LateralJoinScriptTests, d()},
		{"SQLLogicJoinTests", queries.SQLLogicJoinTests, d()},
		{"SQLLogicSubqueryTests", queries.SQLLogicSubqueryTests, d()},
		{"OrderByGroupByScriptTests", queries.OrderByGroupByScriptTests, d()},
		{"ColumnAliasQueries", queries.ColumnAliasQueries, together(setup.Mytable...)},
		{"DerivedTableOuterScopeVisibilityQueries", queries.DerivedTableOuterScopeVisibilityQueries, d()},
		{"AnsiQuotesTests", queries.AnsiQuotesTests, d()},
		{"InsertScripts", queries.InsertScripts, d()},
		{"InsertDuplicateKeyKeyless", queries.InsertDuplicateKeyKeyless, d()},
		{"InsertIgnoreScripts", queries.InsertIgnoreScripts, d()},
		{"IgnoreWithDuplicateUniqueKeyKeylessScripts", queries.IgnoreWithDuplicateUniqueKeyKeylessScripts, d()},
		{"InsertErrorScripts", queries.InsertErrorScripts, d()},
		{"InsertBrokenScripts", queries.InsertBrokenScripts, d()},
		{"UpdateIgnoreScripts", queries.UpdateIgnoreScripts, updates},
		{"UpdateErrorScripts", queries.UpdateErrorScripts, d()},
		{"DeleteErrorTests", queries.DeleteErrorTests, append(d(setup.MytableData, setup.TabletestData),
			"create database test", "create table test.other (pk int primary key)")},
		{"OnUpdateExprScripts", queries.OnUpdateExprScripts, d()},
		{"RowLimitTests", queries.RowLimitTests, d()},
		{"AlterTableScripts", queries.AlterTableScripts, d(setup.Pk_tablesData)},
		{"RenameTableScripts", queries.RenameTableScripts, d(setup.MytableData, setup.OthertableData, setup.NiltableData, setup.EmptytableData)},
		{"RenameColumnScripts", queries.RenameColumnScripts, d(setup.MytableData, setup.TabletestData)},
		{"AddColumnScripts", queries.AddColumnScripts, d(setup.MytableData)},
		{"ModifyColumnScripts", queries.ModifyColumnScripts, d(setup.MytableData, setup.Mytable_del_idxData)},
		{"DropColumnScripts", queries.DropColumnScripts, d(setup.MytableData, setup.TabletestData)},
		{"DropColumnKeylessTablesScripts", queries.DropColumnKeylessTablesScripts, d(setup.TypestableData)},
		{"AlterTableAddAutoIncrementScripts", queries.AlterTableAddAutoIncrementScripts, d()},
		{"AddDropPrimaryKeyScripts", queries.AddDropPrimaryKeyScripts, d()},
		{"CreateTableScriptTests", queries.CreateTableScriptTests, d(setup.MytableData, setup.FooData)},
		{"CreateTableAutoIncrementTests", queries.CreateTableAutoIncrementTests, d()},
		{"CreateDatabaseScripts", queries.CreateDatabaseScripts, d()},
		{"DropDatabaseScripts", queries.DropDatabaseScripts, d()},
		{"CreateForeignKeyTests", queries.CreateForeignKeyTests, d(setup.MytableData)},
		{"DropForeignKeyTests", queries.DropForeignKeyTests, d(setup.MytableData)},
		{"ForeignKeyTests", queries.ForeignKeyTests, d(setup.Parent_childData)},
		{"CreateCheckConstraintsScripts", queries.CreateCheckConstraintsScripts, d(setup.Check_constraintData)},
		{"DropCheckConstraintsScripts", queries.DropCheckConstraintsScripts, d()},
		{"ChecksOnInsertScripts", queries.ChecksOnInsertScripts, d()},
		{"ChecksOnUpdateScriptTests", queries.ChecksOnUpdateScriptTests, d()},
		{"DisallowedCheckConstraintsScripts", queries.DisallowedCheckConstraintsScripts, d()},
		{"ColumnDefaultTests", queries.ColumnDefaultTests, d()},
		{"GeneratedColumnTests", queries.GeneratedColumnTests, d()},
		{"BrokenGeneratedColumnTests", queries.BrokenGeneratedColumnTests, d()},
		{"IndexQueries", queries.IndexQueries, d()},
		{"IndexPrefixQueries", queries.IndexPrefixQueries, d()},
		{"InfoSchemaScripts", queries.InfoSchemaScripts, d(setup.MytableData, setup.Fk_tblData, setup.FooData)},
		{"MySqlDbTests", queries.MySqlDbTests, d()},
		{"VariableQueries", queries.VariableQueries, d()},
		{"ViewScripts", queries.ViewScripts, d()},
		{"LoadDataScripts", queries.LoadDataScripts, d()},
		{"JsonScripts", queries.JsonScripts, d()},
		{"JSONTableScriptTests", queries.JSONTableScriptTests, d()},
	} {
		w.scripts(l.name, l.list, l.with)
	}
	w.transactions("TransactionTests", queries.TransactionTests)
	w.collations()
	w.rest()
}
