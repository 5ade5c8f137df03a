// Package trainer is the contract between a worker and a trainer process, over
// hashicorp/go-plugin: gRPC with mutual TLS on a Unix socket. The main function of a trainer
// calls Serve:
//
//	func main() { trainer.Serve(quadratic{}) }
//
// A worker starts trainers with a Launcher:
//
//	launcher := &trainer.Launcher{Path: []string{"/opt/trainers"}}
//	process, err := launcher.Launch(ctx, "quadratic")
//
// A trainer process has a clean environment, its own process group, and its own home and
// temporary directories. It ends when its worker does, however that ends. It cannot read the
// files in Launcher.Secrets, but it is no sandbox: other files and the network are open to it.
//
// See docs/trainers.md for what a trainer must do, trainerpb/trainer.proto for the protocol, and
// package trainertest for the test suite that every trainer must pass.
package trainer
