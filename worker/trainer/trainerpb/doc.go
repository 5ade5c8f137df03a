// Package trainerpb is generated from trainer.proto, the protocol between a worker and a trainer
// process. Package trainer translates between it and sweep.Trainer.
package trainerpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative trainer.proto
//go:generate protoc --go-grpc_out=. --go-grpc_opt=paths=source_relative trainer.proto
//go:generate protoc --python_out=../python/sweep_trainer trainer.proto
