package file

import (
	"strings"
	"testing"
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
