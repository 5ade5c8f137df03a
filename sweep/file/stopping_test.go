package file

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sweep/sweep"
)

// A trainer must report the metric while it trains.
func TestStoppingNeedsSteps(t *testing.T) {
	d := toy()
	d.Metrics[1].Curve = false
	text := []byte("early_terminate: {type: median}\nmetric: {name: test_accuracy}\nparameters: {dataset: {value: A}}\n")
	_, err := Decode("x.yaml", text, Options{Description: d})
	if err == nil || !strings.Contains(err.Error(), "x.yaml:1:1: early_terminate: trainer toy reports test_accuracy only at "+
		"the end of a trial, which is too late to stop it; validation_loss is reported during training") {
		t.Errorf("error %v", err)
	}
	d.Metrics[0].Curve = false
	_, err = Decode("x.yaml", text, Options{Description: d})
	if err == nil || !strings.Contains(err.Error(), "; no metric of it has steps") {
		t.Errorf("error %v", err)
	}
}

// A key with a typo is an error, or has none, and never ends the program.
func TestTypos(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`[a-z_]+:|: [^ ,}\n]+`)
	for _, name := range names {
		if strings.Contains(name, "many") || strings.Contains(name, "laughs") {
			continue // they take long
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		input, _, _ := strings.Cut(string(text), dashes+"\n")
		for _, at := range key.FindAllStringIndex(input, -1) {
			for _, typo := range []string{input[:at[0]] + "x" + input[at[0]:], input[:at[0]+2] + input[at[1]:]} {
				for _, d := range []*sweep.Description{nil, toy()} {
					func() {
						defer func() {
							if r := recover(); r != nil {
								t.Errorf("%s: %v in\n%s", name, r, typo)
							}
						}()
						_, _ = Decode("x.yaml", []byte(typo), Options{Description: d}) // it may be good
					}()
				}
			}
		}
	}
}
