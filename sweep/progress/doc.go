// Package progress observes how far a sweep is: what is done and running, why trials failed or
// were refused, and when it will end. It queries a sweep.Reader, rarely if the answers take long,
// and draws nothing.
package progress
