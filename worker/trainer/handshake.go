package trainer

import (
	"context"
	"errors"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// ProtocolVersion is the version of the trainer contract that this package speaks.
const ProtocolVersion = 2

// pluginName is the name of the only service of the plugin.
const pluginName = "trainer"

// handshake tells a trainer that a worker started it, not a user.
var handshake = plugin.HandshakeConfig{
	ProtocolVersion:  ProtocolVersion,
	MagicCookieKey:   "SWEEP_TRAINER",
	MagicCookieValue: "5d1a1be0f0a94d4cbf6f1f7a4e6b8f52",
}

// adapter connects the contract to go-plugin; trainer is nil on the worker's side.
type adapter struct {
	plugin.NetRPCUnsupportedPlugin
	trainer sweep.Trainer
}

// GRPCServer implements plugin.GRPCPlugin.
func (a *adapter) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	if a.trainer == nil {
		return errors.New("no trainer to serve")
	}
	trainerpb.RegisterTrainerServer(s, newServer(a.trainer))
	return nil
}

// GRPCClient implements plugin.GRPCPlugin.
func (a *adapter) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, connection *grpc.ClientConn) (any, error) {
	return connection, nil
}
