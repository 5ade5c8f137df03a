package figure

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"sweep/sweep"
)

// Figures and the dashboard have the same colours for groups and values, and in both the better value is the brighter
// one.
func TestColoursOfDashboard(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile("../../coordinator/web/assets/lib/colour.mjs")
	if err != nil {
		t.Fatal(err)
	}
	var stops [][3]float64
	written := regexp.MustCompile(`(?s)const viridis = (\[.*?),\n\];`).FindSubmatch(module)
	if written == nil || json.Unmarshal(append(written[1], ']'), &stops) != nil ||
		fmt.Sprint(stops) != fmt.Sprint(viridisStops) {
		t.Errorf("the dashboard's scale is %v", stops)
	}
	var own []string
	for _, c := range groupColours[:6] {
		own = append(own, fmt.Sprintf(`"#%02X%02X%02X"`, c.R, c.G, c.B))
	}
	if want := "light: [" + strings.Join(own, ", "); !strings.Contains(string(module), want) {
		t.Errorf("the dashboard has other colours than %s", want)
	}
	for goal, best := range map[string]float64{sweep.Minimize: 0, sweep.Maximize: 1} {
		p := heatmapPlot{goal: goal}
		if p.shade(best) != viridis(1) || p.shade(1-best) != viridis(0) {
			t.Errorf("%s: the best is %v", goal, p.shade(best))
		}
	}
}
