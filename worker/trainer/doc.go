// Package trainer is the trainer contract between processes: it serves a
// sweep.Trainer to a worker and launches such processes, over hashicorp/go-plugin
// with gRPC under mutual TLS on a Unix socket.
//
// A trainer is a program whose main calls Serve:
//
//	func main() {
//		trainer.Serve(quadratic{})
//	}
//
// A worker holds a Launcher, which knows the trainers that come with the program
// and finds the others in directories:
//
//	launcher := &trainer.Launcher{Path: []string{"/opt/trainers"}}
//	process, err := launcher.Launch(ctx, "quadratic")
//
// A launched process has a clean environment and a process group of its own, and
// does not outlive its worker, whatever kills that: the kernel kills it when the
// worker dies (Linux), a guard kills what it has started, and Serve watches its
// parent besides.
//
// It has a home and a temporary directory of its own, gone with it, and does not
// see the files that Launcher.Secrets names, nor what other processes of its user
// hold. It is not a sandbox: other files of the user, and the network, are open to
// it.
//
// Errors of a trial (*sweep.ParameterError, *sweep.DataError,
// sweep.ErrDatasetChanged) pass the wire so that errors.As and errors.Is see
// them. A process that ends while it is needed is a *DiedError. Every other
// error is a fault of the machine or of the trainer.
//
// A cancelled trainer hears of it through its context and may send a last
// checkpoint; one that does not return within 3 s is killed, so that after Train
// a process is either idle or dead. A trainer that resumes from a checkpoint sends
// the points before it again: a trial's curves are those of its last execution. A
// trainer whose bits depend on the machine's instruction set names the level in its
// description's KernelLevel and in its results: a worker drops checkpoints of another
// level, and the trainer refuses them.
//
// What a trial leaves besides its result, as its weights, a trainer hands to
// sweep.Sink's Artifact if TrainRequest.Artifacts names it, and lists in
// sweep.Description's Artifacts. What it writes to standard error is the log of the
// execution.
//
// The contract itself is trainerpb/trainer.proto; package trainertest holds the
// suite that every trainer passes.
package trainer
