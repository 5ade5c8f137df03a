package wire_test

import (
	"testing"

	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

func openObjects(t *testing.T, w *wire.Wire, pool string) *wire.Objects {
	t.Helper()
	objects, err := w.Objects(wire.DefaultBucket)
	if err == nil {
		err = objects.Prepare(t.Context(), pool)
	}
	if err == nil { // again, it is there
		err = objects.Prepare(t.Context(), pool)
	}
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestObjects(t *testing.T) {
	artifacttest.Run(t, func(t *testing.T) artifact.Backend {
		w, err := wire.New(wiretest.Start(t), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return openObjects(t, w, "cpu")
	}, nil)
}
