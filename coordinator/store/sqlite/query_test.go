package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"sweep/coordinator/store/query"
	"sweep/coordinator/store/sqlite"
	"sweep/coordinator/store/storetest"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// openNew opens a new database, whose schema was not made by the opening.
func openNew(t testing.TB) sweep.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sweep.db")
	storetest.WithSchema(t, path)
	return open(t, path)
}

// TestQueryCannotGetOut tries what is known to lead out of reading.
func TestQueryCannotGetOut(t *testing.T) {
	s := openNew(t)
	ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
	defer cancel()
	if _, err := s.CreateSweep(ctx, "s1", &sweep.Submission{}, 1); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.db")
	for _, text := range []string{
		`ATTACH '` + other + `' AS other`,
		`ATTACH ':memory:' AS other`,
		`DETACH main`,
		`VACUUM INTO '` + other + `'`,
		`SELECT load_extension('/tmp/x')`,
		`SELECT LOAD_EXTENSION('/tmp/x', 'y')`,
		`SELECT "load_extension"('/tmp/x')`,
		`SELECT writefile('` + other + `', 'x')`,
		`SELECT readfile('/etc/passwd')`,
		`SELECT edit('x', 'vi')`,
		`SELECT fts3_tokenizer('simple', x'0000000000000000')`,
		`SELECT fts5(NULL)`,
		`SELECT sqlite_log(1, 'x')`,
		`SELECT rtreecheck('main', 'trials')`,
		`SELECT * FROM fsdir('/')`,
		`SELECT * FROM csv`,
		`PRAGMA writable_schema = ON`,
		`PRAGMA query_only = OFF`,
		`PRAGMA main.query_only(0)`,
		`PRAGMA journal_mode = DELETE`,
		`PRAGMA wal_checkpoint(TRUNCATE)`,
		`PRAGMA temp_store_directory = '/tmp'`,
		`PRAGMA hard_heap_limit = 1`,
		`PRAGMA locking_mode = EXCLUSIVE`,
		`PRAGMA trusted_schema = ON`,
		`PRAGMA optimize`,
		`PRAGMA integrity_check`,
		`SELECT * FROM pragma_query_only(0)`,
		`SELECT * FROM pragma_writable_schema`,
		`SELECT * FROM pragma_wal_checkpoint('TRUNCATE')`,
		`INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 0, 'x')`,
		`UPDATE sqlite_dbpage SET data = x'00' WHERE pgno = 1`,
		`CREATE VIRTUAL TABLE temp.x USING fts5(a)`,
		`CREATE TEMP VIEW x AS SELECT 1`,
		`CREATE TEMP TRIGGER x AFTER INSERT ON trials BEGIN SELECT 1; END`,
		`WITH x AS (SELECT 1) INSERT INTO counters (sweep_no) SELECT * FROM x`,
		`EXPLAIN DELETE FROM trials; DELETE FROM trials`,
		`BEGIN EXCLUSIVE`,
	} {
		var rows []any
		if err := s.Query(ctx, text, func(_ []string, row []any) error {
			rows = append(rows, row...)
			return nil
		}); err == nil || len(rows) > 0 {
			t.Errorf("%s: %v, %v", text, rows, err)
		}
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was made: %v", other, err)
	}
	if _, err := s.AddTrials(ctx, "s1", 0, 0, []sweep.Trial{{TrialID: sweep.TrialID{Sweep: "s1"}}}, nil); err != nil {
		t.Errorf("the store writes no more: %v", err)
	}
}

// TestEveryFunctionIsKnown: whoever takes a newer SQLite looks at the functions
// that it adds: do they act?
func TestEveryFunctionIsKnown(t *testing.T) {
	known := regexp.MustCompile(
		`^(->>?|%|abs|a?(cos|sin|tan)h?|atan2|avg|bm25|ceil(ing)?|changes|char|coalesce|concat(_ws)?|count|cume_dist|` +
			`current_(date|time|timestamp)|date(time)?|degrees|dense_rank|exp|(first|last|nth)_value|floor|format|fts5(_.*)?|geopoly_.*|glob|group_concat|hex|` +
			`highlight|if|ifnull|iif|instr|jsonb?(_.*)?|julianday|lag|last_insert_rowid|lead|length|like|likelihood|(un)?likely|ln|load_extension|log(10|2)?|` +
			`lower|[lr]?trim|match|max|median|min|mod|ntile|nullif|octet_length|percent_rank|percentile(_.*)?|pi|pow(er)?|printf|quote|radians|random(blob)?|rank|` +
			`replace|round|row_number|rtree(check|depth|node)|sign|snippet|soundex|sqlite_(compileoption_.*|log|offset|source_id|version)|sqrt|strftime|` +
			`string_agg|substr(ing)?|subtype|sum|time(diff)?|total(_changes)?|trunc|typeof|unhex|unicode|unistr(_quote)?|unixepoch|upper|zeroblob)$`)
	n := 0
	err := openNew(t).Query(t.Context(), `SELECT DISTINCT name FROM pragma_function_list`,
		func(_ []string, row []any) error {
			n++
			if name := fmt.Sprint(row[0]); !known.MatchString(name) {
				t.Errorf("%s: does it act?", name)
			}
			return nil
		})
	if err != nil || n < 100 {
		t.Errorf("%d functions, %v", n, err)
	}
}

// TestQueryIsBounded: what a query can take of this process' time and memory.
func TestQueryIsBounded(t *testing.T) {
	s, patient := openNew(t), openNew(t)
	const timeout = 200 * time.Millisecond
	sqlite.SetQueryTimeout(databaseOf(s), timeout)
	ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
	defer cancel()
	const endless = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) `
	for text, want := range map[string]error{
		endless + `SELECT count(*) FROM n`:                                                       query.ErrTimeout,
		endless + `SELECT i FROM n ORDER BY random()`:                                            query.ErrTimeout,
		endless + `SELECT i FROM n WHERE i < 0`:                                                  query.ErrTimeout,
		`SELECT length(zeroblob(1000000000))`:                                                    query.ErrRow,
		`SELECT randomblob(20000000)`:                                                            query.ErrRow,
		`SELECT printf('%*c', 1000000000, 'x')`:                                                  query.ErrRow,
		`SELECT replace(hex(zeroblob(500000)), '0', '0000000000')`:                               query.ErrRow,
		endless + `SELECT group_concat(hex(zeroblob(1000000))) FROM (SELECT * FROM n LIMIT 100)`: query.ErrRow,
	} {
		rows := 0
		store := s
		if errors.Is(want, query.ErrRow) {
			store = patient
		}
		if err := store.Query(ctx, text, func([]string, []any) error { rows++; return nil }); !errors.Is(err, want) {
			t.Errorf("%s: %d rows, %v", text, rows, err)
		}
	}
	for text, want := range map[string]string{
		`SELECT 'x' LIKE '` + strings.Repeat("%a", 1000) + `'`:       "too complex",
		`SELECT ` + strings.Repeat("zeroblob(8000000), ", 200) + `1`: "too many columns",
	} {
		if err := patient.Query(ctx, text, func([]string, []any) error { return nil }); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.60s…: %v", text, err)
		}
	}
	// The time that the caller takes for a row is not the database's, which must have its
	// own: the machine may stand still for a while.
	const ample = time.Second
	sqlite.SetQueryTimeout(databaseOf(s), ample)
	rows, err := 0, query.ErrTimeout
	for begin := time.Now(); errors.Is(err, query.ErrTimeout) && time.Since(begin) < sweeptest.Patience; {
		rows = 0
		err = s.Query(ctx, `SELECT 1 UNION ALL SELECT 2`, func([]string, []any) error {
			if rows++; rows == 1 {
				time.Sleep(ample * 5 / 4)
			}
			return nil
		})
	}
	if err != nil || rows != 2 {
		t.Errorf("a slow reader gets %d rows, %v", rows, err)
	}
}

// TestQuerySortsInFiles: what a query sorts does not stay in memory.
func TestQuerySortsInFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("the memory of a process is only known on Linux")
		return
	}
	s := openNew(t)
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // forgets what it had at most
		t.Fatal(err)
	}
	before := resident(t)
	const rows, size = 15_000, 5000
	err := s.Query(t.Context(),
		fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %[1]d)
		SELECT count(*) FROM (SELECT printf('%%08d%%s', i * 7919 %% %[1]d, '%[2]s') AS x FROM n) GROUP BY x HAVING count(*) > 1`,
			rows, strings.Repeat("x", size-8)), func([]string, []any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if grown := resident(t) - before; grown > rows*size*2/3 {
		t.Errorf("sorting %d MB took %d MB of memory", rows*size/1_000_000, grown/1_000_000)
	}
}

// resident is the most memory that this process has had, in bytes.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// TestQueriesWait: no more queries run at a time than there are places.
func TestQueriesWait(t *testing.T) {
	s := openNew(t)
	ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
	defer cancel()
	running, proceed := make(chan struct{}, 2*query.Places), make(chan struct{})
	ends := make(chan error)
	for range 2 * query.Places {
		go func() {
			ends <- s.Query(ctx, `SELECT 1`, func([]string, []any) error {
				running <- struct{}{}
				<-proceed
				return nil
			})
		}()
	}
	for range query.Places {
		<-running
	}
	if _, err := s.CreateSweep(ctx, "s1", &sweep.Submission{}, 1); err != nil {
		t.Errorf("the store waits for queries: %v", err)
	}
	if n := len(running); n > 0 {
		t.Errorf("%d queries more than places run", n)
	}
	close(proceed)
	for range 2 * query.Places {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
}
