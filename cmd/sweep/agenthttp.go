package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"sweep/coordinator/web"
)

// serveHTTP serves clients over HTTP until the command is to end.
func (a *agentTools) serveHTTP(cmd *cobra.Command) error {
	h := &a.options.http
	tokens, err := a.settings.openTokens(h.tokens)
	if err != nil {
		return err
	}
	listener, origin, err := h.listen("http", a.log)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", a.handler(tokens, !web.IsLoopback(listener.Addr().String())))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	wait := serveOn(server, listener, "mcp", a.log)
	fmt.Fprintf(cmd.OutOrStdout(), "mcp: %s/mcp\n", origin)
	<-cmd.Context().Done()
	_ = server.Close() // clients that wait for a sweep are cut off
	wait()
	return nil
}

// handler answers each request with the tools that its token allows. It keeps no sessions: a token that is revoked
// is of no use from then on.
func (a *agentTools) handler(tokens *web.Tokens, closed bool) http.Handler {
	served := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		token, _ := tokens.OfRequest(r)
		own := *a
		if own.open = token == nil; token != nil {
			own.token = token.Name
		}
		return own.server(web.MayAct(token) == nil)
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, Logger: a.log})
	limited := fewOpen(func(r *http.Request) bool {
		token, _ := tokens.OfRequest(r)
		return token == nil
	}, served)
	// Requests that other sites have a browser send are refused, whatever they carry.
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, carried := tokens.OfRequest(r)
		if carried && token == nil || !web.MayRead(r, token, closed) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, `this needs a valid token: "sweep token create" makes one`, http.StatusUnauthorized)
			return
		}
		limited.ServeHTTP(w, r)
	}))
}
