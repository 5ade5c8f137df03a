package mcp

import (
	"context"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sweep/docs"
	"sweep/sweep"
	"sweep/sweep/file"
)

// addResources adds the files of sweeps, the schemas of sweep files, and the pages of the documentation that help
// to write files and queries.
func (a *Tools) addResources(server *sdk.Server) {
	for _, page := range docs.Pages() {
		server.AddResource(&sdk.Resource{
			URI: "sweep://docs/" + page.Name, Name: page.Name, Title: page.Title, MIMEType: "text/markdown",
		}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return resource("sweep://docs/"+page.Name, "text/markdown", page.Text), nil
		})
	}
	addTemplate(a, server, "sweep://sweeps/", "sweep file", "the text of a sweep's file and those of its extensions",
		"application/yaml", a.files)
	addTemplate(a, server, "sweep://schema/", "schema of sweep files", "JSON Schema of the sweep files of a trainer",
		"application/schema+json", a.schema)
}

// addTemplate adds the resources whose addresses are a prefix and a name.
func addTemplate(a *Tools, server *sdk.Server, prefix, name, description, mediaType string,
	read func(ctx context.Context, name string) (string, error)) {
	server.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: prefix + "{name}", Name: name, Description: description, MIMEType: mediaType,
	}, func(ctx context.Context, request *sdk.ReadResourceRequest) (_ *sdk.ReadResourceResult, err error) {
		defer sweep.Catch(&err)
		uri := request.Params.URI
		text, err := inTurn(ctx, a, func(ctx context.Context) (string, error) {
			return read(ctx, strings.TrimPrefix(uri, prefix))
		})
		if errors.Is(err, sweep.ErrNotFound) {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		if err != nil {
			return nil, err
		}
		return resource(uri, mediaType, text), nil
	})
}

// files returns the texts of a sweep's file and those of its extensions, as YAML documents.
func (a *Tools) files(ctx context.Context, reference string) (text string, err error) {
	err = a.record(ctx, reference, func(_ sweep.Reader, record *sweep.SweepRecord) error {
		var texts []string
		for i := range record.Grids {
			texts = append(texts, record.Grids[i].Submission.Source)
		}
		text = strings.Join(texts, "\n---\n")
		return nil
	})
	return text, err
}

// schema returns the JSON Schema of the sweep files of a trainer.
func (a *Tools) schema(ctx context.Context, trainer string) (string, error) {
	description, err := a.Describe(ctx, []string{trainer})
	if err != nil {
		return "", err
	}
	text, err := file.Schema(description)
	return string(text), err
}

func resource(uri, mediaType, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mediaType, Text: text}}}
}
