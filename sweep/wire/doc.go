// Package wire is all of NATS: subjects, streams, consumers and the encoding
// of messages.
//
//	SWEEP_JOBS    sweep.jobs.<pool>.<sweep>.<index>       work queue, one message a subject
//	SWEEP_EVENTS  sweep.events.<sweep>.<index>.<kind>     work queue of the collector
//	(no stream)   sweep.cancel.<sweep>                    broadcast to workers
//	(no stream)   sweep.control.<operation>               requests to the active coordinator
//	(no stream)   sweep.workers.<operation>               requests to all workers, or one
//
// Messages are JSON with a version. What cannot be read is terminated, counted
// and logged: it comes from outside, so it never makes anything panic.
//
// The broker only carries. It acknowledges before its disk has a message, and
// its streams may be lost at any moment: Setup makes them again, and the
// coordinator publishes what the database says is missing.
package wire
