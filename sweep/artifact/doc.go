// Package artifact keeps the bytes of artifacts: what trials leave besides their
// results, such as weights. What there is of them, with size and digest, is in the
// database; here are the bytes alone, each under a location that begins with its
// pool and its sweep (sweep.ArtifactLocation) and ends with their digest.
//
//	store.go    Store: digests checked, and uploads that go on after a failure
//	folder.go   a folder, on a disk that all parties share
//	s3/         a bucket of an S3-compatible service
//
// Package wire has the third kind, a bucket of the cluster's own NATS servers.
// Package artifacttest is the suite that every kind passes.
package artifact
