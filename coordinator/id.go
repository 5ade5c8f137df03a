package coordinator

import (
	"crypto/rand"
	"time"
)

// idLetters are the letters of the random part of a sweep id: 32 of them, so
// that each byte gives one without bias, and none that is easily misread.
const idLetters = "23456789abcdefghijkmnpqrstuvwxyz"

// newID returns the id of a sweep submitted at the given time, such as
// "20261112-153042-k7qd": in order of time to the second, without letters that
// NATS, a file name or a shell would take amiss, and unique by its last part,
// one of a million in each second.
func newID(now time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails: see crypto/rand
	for i, b := range random {
		random[i] = idLetters[b%32]
	}
	return now.UTC().Format("20060102-150405-") + string(random[:])
}
