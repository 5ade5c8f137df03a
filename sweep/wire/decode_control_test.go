package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"testing"

	"sweep/sweep"
)

// Whatever a client sends, it gives a request or an error, and a grid or an error.
func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"submission":{"spec":{"name":"n","trainer":"noop","pool":"cpu","axes":[{"parameters":[{"name":"x","values":{"range":{"start":1,"step":1,"count":9,"integer":true}}}]}],"when":[{"parameter":"x","when":{"y":[1]}}],"exclude":[{"x":[2]}]}}}`), false)
	f.Add([]byte(`{"sweep":"s","query":{"Where":[{"Name":"x","Operator":"="}],"Values":[{"f":"1e5"}]}}`), false)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(`{"sweep":"s"}`)); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(zipped.Bytes(), true)
	f.Fuzz(func(t *testing.T, data []byte, zipped bool) {
		encoding := ""
		if zipped {
			encoding = gzipEncoding
		}
		_ = decodeRequest(data, encoding, &trialsRequest{}) // an error is fine
		var r submitRequest
		if err := decodeRequest(data, encoding, &r); err != nil || r.Submission == nil {
			return
		}
		grid, err := sweep.NewGrid(&r.Submission.Spec)
		if err != nil {
			return
		}
		point, err := grid.At(0)
		if err != nil {
			t.Fatalf("a grid of %d points has no first: %v", grid.Count(), err)
		}
		_, _ = r.Submission.Description.Resolve(point) // an error is fine
	})
}

// A database value survives the wire, or becomes its text.
func FuzzValue(f *testing.F) {
	for _, text := range []string{`null`, `1`, `"a"`, `{"f":"NaN"}`, `{"b":"AA=="}`, `{"t":"2026-01-02T03:04:05Z"}`,
		`{"j":[1,{"f":2}]}`, `{}`, `{"f":"x"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, again value
		if json.Unmarshal(data, &c) != nil {
			return
		}
		encoded, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if err := json.Unmarshal(encoded, &again); err != nil {
			t.Fatalf("%s becomes %s: %v", data, encoded, err)
		}
		if twice, err := json.Marshal(again); err != nil || !bytes.Equal(encoded, twice) {
			t.Errorf("%s becomes %s, then %s (%v)", data, encoded, twice, err)
		}
	})
}
