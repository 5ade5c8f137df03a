package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sweep/sweep"
	"sweep/sweep/file"
	"sweep/sweep/wire"
)

// addChanges adds the tools that change sweeps.
func (a *Tools) addChanges(server *sdk.Server) {
	addChanger(server, sdk.Tool{Name: "submit",
		Description: "Submit the text of a sweep file, and say why. Answers at once; status waits for the end."},
		false, a.submit)
	addChanger(server, sdk.Tool{Name: "extend",
		Description: "Add those grid points of a sweep file to a sweep that it does not have yet."}, false, a.extend)
	addChanger(server, sdk.Tool{Name: "annotate", Description: wire.Purpose("annotate") +
		". What is left out stays as it is."}, false, a.annotate)
	for _, o := range a.offers {
		addChanger(server, sdk.Tool{Name: o.Name, Description: o.description(), InputSchema: o.schema}, o.Tool.Destroys,
			a.carryOut(&o.Operation))
	}
}

// offer is a control operation that agents are offered, with the schema of its arguments.
type offer struct {
	wire.Operation
	schema *jsonschema.Schema
}

// allOffers are those of package wire.
func allOffers() (list []offer, err error) {
	for _, o := range wire.Operations() {
		if o.Tool == nil {
			continue
		}
		schema, err := jsonschema.ForType(o.Request, nil)
		if err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", o.Name, err)
		}
		if schema.Required = append(schema.Required, "sweep"); o.Tool.Some != "" {
			schema.Properties["trials"] = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "integer"},
				Description: "indices of trials; default: all of the sweep"}
		}
		list = append(list, offer{o, schema})
	}
	return list, nil
}

func (o *offer) description() string {
	text := o.Purpose + "."
	if o.Tool.Some != "" {
		text += " With trials only those."
	}
	return strings.TrimSpace(text + " " + o.Tool.Detail)
}

// carryOut returns the answer of a control operation.
func (a *Tools) carryOut(o *wire.Operation) func(ctx context.Context, who string, in *map[string]any) (*changeAnswer,
	error) {
	return func(ctx context.Context, _ string, in *map[string]any) (*changeAnswer, error) {
		request, name := *in, o.Name
		if trials, _ := request["trials"].([]any); len(trials) > 0 {
			request["indices"], name = trials, o.Tool.Some
		}
		delete(request, "trials")
		reference, _ := request["sweep"].(string)
		return a.changed(ctx, reference, o.Tool.Done, o.Tool.Trains, func(t Target, id string) (int64, error) {
			request["sweep"] = id
			data, err := json.Marshal(request)
			if err != nil {
				return 0, err
			}
			return wire.Perform(ctx, t, name, data)
		})
	}
}

// addChanger adds a tool that changes sweeps. who is the quoted name of the client, "" if it gives none.
func addChanger[In, Out any](server *sdk.Server, tool sdk.Tool, destroys bool,
	answer func(ctx context.Context, who string, in *In) (*Out, error)) {
	closed := false
	tool.Annotations = &sdk.ToolAnnotations{DestructiveHint: &destroys, OpenWorldHint: &closed}
	sdk.AddTool(server, &tool,
		func(ctx context.Context, request *sdk.CallToolRequest, in In) (_ *sdk.CallToolResult, out *Out, err error) {
			defer sweep.Catch(&err)
			who := ""
			if p := request.Session.InitializeParams(); p != nil && p.ClientInfo != nil && p.ClientInfo.Name != "" {
				who = fmt.Sprintf("%.100q", strings.TrimSpace(p.ClientInfo.Name+" "+p.ClientInfo.Version))
			}
			out, err = answer(ctx, who, &in)
			return nil, out, err
		})
}

// plan checks the text of a sweep file. Without a token it does not look for programs.
func (a *Tools) plan(ctx context.Context, text string) (*Plan, error) {
	if name, err := file.Trainer("sweep file", []byte(text)); err == nil && name == sweep.ScriptTrainer && a.open {
		return nil, errors.New("sweep file: to check a file with a program needs a token")
	}
	return a.Plan(ctx, text)
}

// asker says on whose behalf a client submits.
func (a *Tools) asker(who string) string {
	on := "for " + a.User
	if a.token != "" {
		on = "with token " + a.token
	}
	if who != "" {
		on = who + " " + on
	}
	return AskedBy + on
}

type submitRequest struct {
	File    string `json:"file" jsonschema:"text of the sweep file"`
	Purpose string `json:"purpose" jsonschema:"why the sweep is run, for the people who read its results"`
	Fresh   bool   `json:"fresh,omitempty" jsonschema:"train again what earlier sweeps have results of"`
	Key     string `json:"key,omitempty" jsonschema:"name of this submission: the same key never submits twice"`
}

type submitAnswer struct {
	Sweep   string   `json:"sweep"`
	Trials  int64    `json:"trials"`
	Waiting string   `json:"waiting,omitempty" jsonschema:"why no worker can run it now"`
	Notes   []string `json:"notes,omitempty"`
}

// errNoPurpose is why a submission without a purpose is refused.
var errNoPurpose = errors.New("purpose is empty: say why the sweep is run")

func (a *Tools) submit(ctx context.Context, who string, in *submitRequest) (*submitAnswer, error) {
	p, err := a.submission(ctx, who, in.Purpose, in.File)
	if err != nil {
		return nil, err
	}
	p.Submission.Reuse, p.Submission.Key = !in.Fresh, in.Key
	if budget := a.Budget; budget != nil {
		if p.Submission.Spec.Budget != nil {
			return nil, fmt.Errorf("the file has a budget, but the sweeps of this session share one of %v: remove it "+
				"from the file", budget)
		}
		p.Submission.Spec.Budget = budget
	}
	out := &submitAnswer{Notes: p.Notes}
	return out, a.Change(ctx, true, func(t Target) error {
		note, err := p.CompareInputs(ctx, t)
		if err != nil {
			return err
		}
		if note != "" {
			out.Notes = append(out.Notes, note)
		}
		done, err := t.Submit(ctx, p.Submission, false)
		out.Sweep, out.Trials, out.Waiting = done.Sweep, done.Points, done.Waiting
		return err
	})
}

// submission is a checked sweep file and who asks for it.
func (a *Tools) submission(ctx context.Context, who, purpose, text string) (*Plan, error) {
	if strings.TrimSpace(purpose) == "" {
		return nil, errNoPurpose
	}
	p, err := a.plan(ctx, text)
	if err != nil {
		return nil, err
	}
	if err := a.Runs(&p.Submission.Spec); err != nil {
		return nil, fmt.Errorf("sweep file: %w", err)
	}
	p.Submission.AskedBy, p.Submission.Purpose = a.asker(who), purpose
	return p, nil
}

type extendRequest struct {
	Sweep   string `json:"sweep" jsonschema:"id, beginning of an id, or name of the sweep"`
	File    string `json:"file" jsonschema:"text of the sweep file"`
	Purpose string `json:"purpose" jsonschema:"why the sweep is extended"`
}

type changeAnswer struct {
	Sweep  string           `json:"sweep"`
	State  sweep.SweepState `json:"state"`
	Done   string           `json:"done" jsonschema:"what was done"`
	Trials int64            `json:"trials" jsonschema:"how many trials it was done to"`
}

func (a *Tools) extend(ctx context.Context, who string, in *extendRequest) (*changeAnswer, error) {
	p, err := a.submission(ctx, who, in.Purpose, in.File)
	if err != nil {
		return nil, err
	}
	p.Submission.Reuse = true
	return a.changed(ctx, in.Sweep, "added", true, func(t Target, id string) (int64, error) {
		if _, err := p.CompareInputs(ctx, t); err != nil {
			return 0, err
		}
		return t.Extend(ctx, id, p.Submission)
	})
}

// changed changes one sweep by do, which returns how many trials it was done to.
func (a *Tools) changed(ctx context.Context, reference, done string, trains bool,
	do func(t Target, id string) (int64, error)) (out *changeAnswer, err error) {
	if reference == "" {
		return nil, errors.New("sweep is empty: name the sweep that is to be changed")
	}
	err = a.Change(ctx, trains, func(t Target) error {
		record, err := t.Sweep(ctx, reference)
		if err != nil {
			return err
		}
		own := a.Budget
		if trains && own != nil && (record.Budget == nil || record.Budget.Name != own.Name) {
			return fmt.Errorf("sweep %s is not within the budget of this session, %v: submit a sweep of its own",
				record.ID, own)
		}
		for i := range record.Grids {
			if err := a.Runs(&record.Grids[i].Submission.Spec); trains && err != nil {
				return fmt.Errorf("sweep %s: %w", record.ID, err)
			}
		}
		trials, err := do(t, record.ID)
		if err == nil {
			record, err = t.Sweep(ctx, record.ID)
		}
		if err == nil {
			out = &changeAnswer{record.ID, record.State, done, trials}
		}
		return err
	})
	return out, err
}

type annotateRequest struct {
	Sweep string   `json:"sweep" jsonschema:"id, beginning of an id, or name of the sweep"`
	Trial *int64   `json:"trial,omitempty" jsonschema:"index of a trial; default: the sweep itself"`
	Notes *string  `json:"notes,omitempty" jsonschema:"replaces the notes; an empty text removes them"`
	Tags  []string `json:"tags,omitempty" jsonschema:"replaces the tags; an empty list removes them"`
}

func (a *Tools) annotate(ctx context.Context, who string, in *annotateRequest) (*changeAnswer, error) {
	edit := sweep.Edit{Index: in.Trial, Notes: in.Notes, Tags: in.Tags, By: a.asker(who)}
	if err := edit.Check(); err != nil {
		return nil, err
	}
	return a.changed(ctx, in.Sweep, "annotated", false, func(t Target, id string) (int64, error) {
		return 0, t.Annotate(ctx, id, edit)
	})
}
