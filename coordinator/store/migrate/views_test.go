package migrate

import (
	"regexp"
	"testing"

	"sweep/migrations"
	"sweep/sweep/paper/archive"
)

// The statements that create views are those that a regular expression finds.
func TestCreated(t *testing.T) {
	statement := regexp.MustCompile(`(?ms)(?:^--[^\n]*\n)*^CREATE VIEW (\w+) AS$.*?;$`)
	for _, text := range []string{migrations.Views, archive.Views(), "", "-- a\n\n-- b\nCREATE VIEW v AS\nSELECT 1;\n-- c\n" +
		"CREATE TABLE t (x);\n-- d\n-- e\nCREATE VIEW w AS\nSELECT ';' -- of v;\n, 2;\nCREATE VIEW x AS\nSELECT 3;"} {
		want := statement.FindAllStringSubmatch(text, -1)
		n := 0
		for name, sql := range created(text) {
			if n >= len(want) || name != want[n][1] || sql != want[n][0] {
				t.Fatalf("view %d is %s:\n%s", n, name, sql)
			}
			n++
		}
		if n != len(want) {
			t.Errorf("%d of %d views", n, len(want))
		}
	}
}
