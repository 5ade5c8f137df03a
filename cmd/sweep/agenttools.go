package main

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sweep/model"
	"sweep/sweep"
)

// agentTools are the tools of one client.
type agentTools struct {
	settings *settings
	options  *agentOptions
	lab      laboratory
	log      *slog.Logger
	// schemas saves the work of a server for each request.
	schemas *mcp.SchemaCache
	// token names the token of the client's requests, "" if they have none or come from the user's own process.
	token string
	// open says that the requests need no token and have none; each call then works for openTime at most.
	open     bool
	openTime time.Duration
	// turns are those of all clients.
	turns *turns
}

// instructions tell an agent how to work with the tools.
const instructions = `sweep trains every point of a hyperparameter grid. A sweep file (YAML) names a trainer and the
values of its parameters; each combination is a trial. Write a file with the help of describe_trainer, check it, submit
it, wait with status, and then read best, compare and curves. Resources have the documentation and the files of sweeps.`

// server returns a server with the tools that read and, if changes are allowed, those that change sweeps.
func (a *agentTools) server(changes bool) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "sweep", Version: model.Version},
		&mcp.ServerOptions{Instructions: instructions, Logger: a.log, Capabilities: &mcp.ServerCapabilities{},
			SchemaCache: a.schemas})
	a.addReading(server)
	a.addTrials(server)
	a.addResources(server)
	if changes {
		a.addChanges(server)
	}
	return server
}

// addReader adds a tool that changes nothing, of which a client makes one call at a time.
func addReader[In, Out any](a *agentTools, server *mcp.Server, name, description string,
	answer func(ctx context.Context, in *In) (*Out, error)) {
	addWaiter(server, name, description, func(ctx context.Context, in *In) (*Out, error) {
		return inTurn(ctx, a, func(ctx context.Context) (*Out, error) { return answer(ctx, in) })
	})
}

// addWaiter adds a tool that changes nothing, and may wait.
func addWaiter[In, Out any](server *mcp.Server, name, description string,
	answer func(ctx context.Context, in *In) (*Out, error)) {
	closed := false
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (_ *mcp.CallToolResult, out *Out, err error) {
			defer sweep.Catch(&err)
			out, err = answer(ctx, &in)
			return nil, out, err
		})
}

// agentSweep names the sweep that a tool reads.
type agentSweep struct {
	Sweep string `json:"sweep,omitempty" jsonschema:"id, beginning of an id, or name of the sweep; default: latest"`
}

// record calls do with the results and the sweep that a reference names.
func (a *agentTools) record(ctx context.Context, reference string,
	do func(results reader, record *sweep.SweepRecord) error) error {
	return using(ctx, a.settings.openReader, func(results reader) error {
		record, err := results.Sweep(ctx, reference)
		if err != nil {
			return err
		}
		return do(results, record)
	})
}

// bounded is a number of items that a client asks for, within 1 and most.
func bounded(asked, otherwise, most int) int {
	if asked <= 0 {
		return otherwise
	}
	return min(asked, most)
}

// digits rounds a value to six significant digits; what is not finite becomes nil.
func digits(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64) // a number that was just written
	return &v
}
