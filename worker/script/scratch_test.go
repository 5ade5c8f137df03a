package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/sweep"
)

// A trial whose folder another one had finds nothing of that one, and what that one has linked stays as it is.
func TestFolderOfTheTrialBefore(t *testing.T) {
	r := newRig(t, `
folder=$(dirname "$SWEEP_PARAMETERS")
ls "$folder" | tr '\n' ' '
echo "$folder" >> folders
cat "$SWEEP_PARAMETERS"
case "$*" in
*link*) ln -sf "$PWD/mine" "$SWEEP_PARAMETERS" ;;
*name*) rm "$SWEEP_PARAMETERS"; ln "$PWD/mine" "$SWEEP_PARAMETERS" ;;
*mode*) chmod 755 "$folder" ;;
*away*) rm -r "$folder" ;;
esac
echo left > "$folder/left"; mkdir "$folder/more" && echo left > "$folder/more/left"
echo '{"loss": 1}' > "$SWEEP_EVENTS"
`)
	r.write("mine", "mine")
	trainer := New(r.options)
	does := []string{"nothing", "link", "name", "mode", "nothing", "away", "nothing"}
	for _, do := range does {
		r.log.Reset()
		_, err := trainer.Train(t.Context(), r.request(sweep.Parameters{"do": do}), &r.sink)
		if err != nil {
			t.Fatal(do, err)
		}
		if want := `config.yaml events parameters.json {"do": "` + do + `"}`; !strings.Contains(r.log.String(), want) {
			t.Errorf("%s: got %s, want %s", do, &r.log, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(r.dir, "mine")); err != nil || string(text) != "mine" {
		t.Errorf("the project's file: %q, %v", text, err)
	}
	folders, err := os.ReadFile(filepath.Join(r.dir, "folders"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, name := range strings.Fields(string(folders)) {
		names[name] = true
	}
	if len(names) != len(does) {
		t.Errorf("%d trials had folders of %d names", len(does), len(names))
	}
}
