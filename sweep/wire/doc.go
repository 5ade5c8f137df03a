// Package wire is all of NATS: subjects, streams, consumers and the encoding
// of messages.
//
//	SWEEP_JOBS_<pool>  sweep.work.<pool>.<offer>.<sweep>.<index>  work queue, one message a subject
//	SWEEP_EVENTS       sweep.events.<pool>.<worker>               work queue of the collector
//	(no stream)        sweep.beat.<pool>.<worker>                 a worker's heartbeats to the active coordinator
//	(no stream)        sweep.cancel.<sweep>                       broadcast to workers
//	(no stream)        sweep.control.<operation>                  requests to the active coordinator
//	(no stream)        sweep.workers.<operation>                  requests to all workers, or one
//	OBJ_<bucket>_<pool>  $O.<bucket>_<pool>.>                     object store of artifacts, if they are kept here
//
// A job is meant for the workers of a pool whose offers have one key: they share
// a durable consumer, which the coordinator makes.
//
// Messages are JSON with a version. What cannot be read is terminated, counted
// and logged: it comes from outside, so it never makes anything panic. A message
// of a newer version is left for those who know it.
//
// The broker only carries. It acknowledges before its disk has a message, and
// its streams may be lost at any moment: they are made again, and the
// coordinator publishes what the database says is missing.
package wire
