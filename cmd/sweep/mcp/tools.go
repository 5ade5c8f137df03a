// Package mcp serves sweeps to agents over the Model Context Protocol, by tools that read sweeps, and by others that
// change them where changes are allowed. What needs a trainer or a database is in the Options:
//
//	tools := mcp.New(mcp.Options{Read: read, Describe: describe, …})
//	err := tools.Server(false).Run(ctx, transport)
package mcp

import (
	"context"
	"io"
	"log/slog"
	"math"
	"strconv"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// AskedBy begins the asked_by of sweeps that agents submitted.
const AskedBy = "mcp "

// Target is what agents change and read.
type Target interface {
	sweep.Reader
	wire.Controller
}

// Laboratory carries out the changes of agents.
type Laboratory interface {
	// Change calls do with what changes sweeps. With trains, there will be trials to run.
	Change(ctx context.Context, trains bool, do func(t Target) error) error
	// Runs returns an error if what carries out the changes has no worker that a spec asks for, and never will.
	Runs(spec *sweep.Spec) error
	// Problem is what keeps trials from advancing, nil if nothing is known.
	Problem() error
}

// Options are what the tools need of the program that serves them.
type Options struct {
	Laboratory
	// Read calls do with the results.
	Read func(ctx context.Context, do func(results sweep.Reader) error) error
	// Describe returns the description of the trainer that is named, or of the built-in one.
	Describe func(ctx context.Context, name []string) (*sweep.Description, error)
	// Plan checks the text of a sweep file.
	Plan func(ctx context.Context, text string) (*Plan, error)
	// Logs prints the log of an execution, the last if none is named, and remarks to notes.
	Logs func(ctx context.Context, results sweep.Reader, id sweep.TrialID, execution string, out, notes io.Writer) error
	// Budget is what the sweeps that are submitted here share, nil if there is no bound.
	Budget *sweep.Budget
	// Version is that of the program, User who runs it.
	Version, User string
	Log           *slog.Logger
}

// Plan is a checked sweep file.
type Plan struct {
	Submission *sweep.Submission
	Grid       *sweep.Grid
	Notes      []string
	// Bytes is the largest memory estimate of a trial.
	Bytes int64
	// Speed estimates how fast a core trains, in flop a second, 0 if that is not known.
	Speed func(ctx context.Context) (float64, error)
	// CompareInputs finds which earlier results can be reused; the note says why others cannot.
	CompareInputs func(ctx context.Context, results sweep.Reader) (note string, err error)
}

// Tools are the tools of one client.
type Tools struct {
	Options
	// schemas saves the work of a server for each request.
	schemas *sdk.SchemaCache
	// token names the token of the client's requests, "" if they have none or come from the user's own process.
	token string
	// open says that the requests need no token and have none; each call then works for openTime at most.
	open     bool
	openTime time.Duration
	// turns are those of all clients.
	turns *turns
	// offers are the control operations that agents are offered.
	offers []offer
}

// New returns the tools of the user's own process.
func New(options Options) (*Tools, error) {
	list, err := allOffers()
	return &Tools{Options: options, schemas: sdk.NewSchemaCache(), openTime: openTime, turns: newTurns(),
		offers: list}, err
}

// instructions tell an agent how to work with the tools.
const instructions = `sweep trains every point of a hyperparameter grid. A sweep file (YAML) names a trainer and the
values of its parameters; each combination is a trial. Write a file with the help of describe_trainer, check it, submit
it, wait with status, and then read best, compare and curves. Resources have the documentation and the files of sweeps.`

// Server returns a server with the tools that read and, if changes are allowed, those that change sweeps.
func (a *Tools) Server(changes bool) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "sweep", Version: a.Version},
		&sdk.ServerOptions{Instructions: instructions, Logger: a.Log, Capabilities: &sdk.ServerCapabilities{},
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
func addReader[In, Out any](a *Tools, server *sdk.Server, name, description string,
	answer func(ctx context.Context, in *In) (*Out, error)) {
	addWaiter(server, name, description, func(ctx context.Context, in *In) (*Out, error) {
		return inTurn(ctx, a, func(ctx context.Context) (*Out, error) { return answer(ctx, in) })
	})
}

// addWaiter adds a tool that changes nothing, and may wait.
func addWaiter[In, Out any](server *sdk.Server, name, description string,
	answer func(ctx context.Context, in *In) (*Out, error)) {
	closed := false
	sdk.AddTool(server, &sdk.Tool{Name: name, Description: description,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}},
		func(ctx context.Context, _ *sdk.CallToolRequest, in In) (_ *sdk.CallToolResult, out *Out, err error) {
			defer sweep.Catch(&err)
			out, err = answer(ctx, &in)
			return nil, out, err
		})
}

// sweepName names the sweep that a tool reads.
type sweepName struct {
	Sweep string `json:"sweep,omitempty" jsonschema:"id, beginning of an id, or name of the sweep; default: latest"`
}

// record calls do with the results and the sweep that a reference names.
func (a *Tools) record(ctx context.Context, reference string,
	do func(results sweep.Reader, record *sweep.SweepRecord) error) error {
	return a.Read(ctx, func(results sweep.Reader) error {
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
