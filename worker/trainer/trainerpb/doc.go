// Package trainerpb is the trainer contract on the wire, generated from
// trainer.proto. Package trainer turns it into sweep.Trainer and back.
package trainerpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative
// trainer.proto
//go:generate protoc --python_out=../python/sweep_trainer trainer.proto
