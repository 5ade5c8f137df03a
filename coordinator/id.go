package coordinator

import (
	"crypto/rand"
	"time"
)

// idLetters are the letters of the random part of a sweep id. There are 32, so that a byte selects one
// without bias, and none is easily misread.
const idLetters = "23456789abcdefghijkmnpqrstuvwxyz"

// newID returns an id for a sweep submitted at a time, such as "20261112-153042-k7qd". Ids sort by time
// to the second, need no quoting in NATS, file names or a shell, and end in one of a million random
// parts.
func newID(now time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails: see crypto/rand
	for i, b := range random {
		random[i] = idLetters[b%32]
	}
	return now.UTC().Format("20060102-150405-") + string(random[:])
}
