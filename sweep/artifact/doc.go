// Package artifact stores the bytes of artifacts: files that trials leave besides their results,
// such as weights. The database has their sizes and digests. The bytes of an artifact are at a
// location that begins with its pool and its sweep and ends with its digest
// (sweep.ArtifactLocation). The main type is Store, which verifies digests and resumes uploads:
//
//	store := artifact.New(backend, log)
//	err := store.Put(ctx, location, content, size)
//
// Backends are Folder, on a disk that all parties share, a bucket of an S3-compatible service
// (package s3), and a bucket of the cluster's NATS servers (package wire). All of them pass the
// suite in package artifacttest.
package artifact
