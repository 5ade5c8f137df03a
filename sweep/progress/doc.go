// Package progress tells how far a sweep is: what is done, what runs and how far
// each of that is, why trials failed or were refused, who leads, and when it will
// be over. It asks a sweep.Reader, as rarely as the answers cost time, and draws
// nothing.
package progress
