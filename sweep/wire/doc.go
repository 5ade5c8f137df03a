// Package wire is all of NATS: subjects, streams, consumers, the encoding of messages and the
// control service. Its main type is Wire, one party's end. A worker takes a job like this:
//
//	jobs, err := w.Jobs(wire.Queue{Pool: "cpu", Offer: offer.Key()})
//	err = jobs.Request(1)
//	delivery, err := jobs.Next(ctx, time.Second)
//
// The streams and subjects:
//
//	SWEEP_JOBS_<pool>    sweep.work.<pool>.<offer>.<sweep>.<index>  jobs, at most one per subject
//	SWEEP_EVENTS         sweep.events.<pool>.<worker>               workers' events for the collector
//	OBJ_<bucket>_<pool>  $O.<bucket>_<pool>.>                       artifacts, if they are stored in NATS
//	(no stream)          sweep.beat.<pool>.<worker>                 workers' heartbeats
//	(no stream)          sweep.cancel.<sweep>                       cancellations, to all workers
//	(no stream)          sweep.control.<operation>                  requests to the active coordinator
//	(no stream)          sweep.workers.<operation>                  requests to all workers, or to one
//
// Messages are versioned JSON. Malformed ones are dropped, counted and logged; those of a newer
// version are left for a newer program. The broker may lose its streams at any time: the
// coordinator creates them again and publishes the jobs that the database says are missing.
package wire
