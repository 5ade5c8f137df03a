package mcp

import (
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sweep/coordinator/web"
)

// Handler answers each request with the tools that its token allows. It keeps no sessions: a token that is revoked
// is of no use from then on.
func (a *Tools) Handler(tokens *web.Tokens, closed bool) http.Handler {
	served := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		token, _ := tokens.OfRequest(r)
		own := *a
		if own.open = token == nil; token != nil {
			own.token = token.Name
		}
		return own.Server(web.MayAct(token) == nil)
	}, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, Logger: a.Log})
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
