package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDataCommands(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	run := func(args ...string) (stdout, stderr string, code int) {
		return output(t, home, append(args, "--data", dir)...)
	}
	check(t, run,
		line{args: []string{"data", "list"},
			stdout: []string{"SET", "mnist   0 of 4", "0 of 42", "by hand", "Creative Commons BY 4.0"}},
		line{args: []string{"data", "verify"}, code: exitFailure, stderr: []string{"none of the data sets", "data fetch"}},
		line{args: []string{"data", "verify", "minst"}, code: exitUsage, stderr: []string{`"minst"`, "ucr, mnist"}},
		line{args: []string{"data", "fetch"}, code: exitUsage},
		line{args: []string{"data", "fetch", "ptb"}, code: exitFailure,
			stderr: []string{"ptb is not fetched", "simple-examples.tgz", filepath.Join(dir, "ptb")}},
	)
	for name, content := range map[string]string{
		"har/activity_labels.txt": "1 WALKING\n2 WALKING_UPSTAIRS\n3 WALKING_DOWNSTAIRS\n4 SITTING\n5 STANDING\n6 LAYING\n",
		"har/README.txt":          "another text",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check(t, run,
		line{args: []string{"data", "list", "har"}, stdout: []string{"licence: no commercial use", "here     80 B",
			"missing", "f6e6b292704438261f0283b2a82659ab0661447dc16520938bdf379ed1bf8de0  har/activity_labels.txt"}},
		line{args: []string{"data", "list", "har", "--json"}, stdout: []string{`"here":2`,
			`"url":"https://raw.githubusercontent.com/`}},
		line{args: []string{"data", "verify"}, code: exitFailure, stdout: []string{"different  " + filepath.Join(dir, "har"),
			"missing  har/train/y_train.txt"}, stderr: []string{"23 of 24 files"}},
		// Nothing is asked of the network before the file that was there.
		line{args: []string{"data", "fetch", "har"}, code: exitFailure,
			stderr: []string{"README.txt", "remove it to fetch it again"}},
	)
}
