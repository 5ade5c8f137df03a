package dataset

import "testing"

// The printed parameter counts of the RNN with 32 hidden units are
// (n_y + n_i + n + 1) n + n_y + n: they hold the output width and the input size.
func TestTable4(t *testing.T) {
	counts := []int{3058, 2694, 1219, 1606, 1699, 1476, 1570, 1997, 1410, 1641, 1410, 1606, 1443, 1615, 1701, 1615,
		1507, 1996, 1315, 1570, 1410}
	if len(Table4) != len(counts) {
		t.Fatalf("%d sets", len(Table4))
	}
	for i, p := range Table4 {
		const n = 32
		if got := (p.OutputWidth+p.InputSize+n+1)*n + p.OutputWidth + n; got != counts[i] {
			t.Errorf("%s: %d parameters, printed are %d", p.Paper, got, counts[i])
		}
		if p.Depth*p.InputSize != p.Length {
			t.Errorf("%s: %d steps of %d values are not %d", p.Paper, p.Depth, p.InputSize, p.Length)
		}
		if size := paperInputSize(p.Length); size != p.InputSize && p.Name != "FiftyWords" {
			t.Errorf("%s: the rule gives an input size of %d, printed is %d", p.Paper, size, p.InputSize)
		}
		for _, name := range []string{p.Paper, p.Name} {
			if found, ok := LookupPaper(name); !ok || found != p {
				t.Errorf("%s: found %+v", name, found)
			}
		}
	}
	if p, ok := LookupPaper("Mallat"); ok {
		t.Errorf("Mallat: found %+v", p)
	}
}
