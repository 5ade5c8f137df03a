package archive

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	if n := len(strings.Fields(names)); n != 128 {
		t.Errorf("the archive has %d data sets, want 128", n)
	}
	if !Has("Gun_Point") || !Has("50words") || Has("mnist") {
		t.Error("names are not told apart")
	}
	if views := Views(); strings.Contains(views, "ARCHIVE_KEYS") || !strings.Contains(views, "'gunpoint',") {
		t.Error(views)
	}
}
