package web_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"sweep/coordinator/web"
)

// Processes change the tokens of a file at the same time: none that is created is lost, and none that is revoked
// comes back.
func TestTokensTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	const rounds, creators = 10, 4
	served := web.OpenTokens(path)
	for round := range rounds {
		old := fmt.Sprint("old", round)
		secret, err := web.OpenTokens(path).Create(old, false, 0)
		if err != nil {
			t.Fatal(err)
		}
		if served.Find(secret) == nil {
			t.Fatal("a new token is not valid")
		}
		var working sync.WaitGroup
		for i := range creators {
			working.Go(func() {
				if _, err := web.OpenTokens(path).Create(fmt.Sprintf("new%d-%d", round, i), false, 0); err != nil {
					t.Error(err)
				}
			})
		}
		working.Go(func() {
			if err := web.OpenTokens(path).Revoke(old); err != nil {
				t.Error(err)
			}
		})
		working.Wait()
		if served.Find(secret) != nil {
			t.Errorf("round %d: a revoked token is valid", round)
		}
	}
	list, err := served.List()
	if err != nil || len(list) != rounds*creators {
		t.Errorf("%d tokens of %d: %v", len(list), rounds*creators, err)
	}
}
