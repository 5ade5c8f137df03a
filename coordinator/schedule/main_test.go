package schedule

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws the same histories at each run; -rapid.seed draws others.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}
