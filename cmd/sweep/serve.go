package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"
)

// serve serves a daemon's health and metrics on --listen and its profiles on --pprof, until the returned
// function is called, which waits.
func (d *daemon) serve(handler http.Handler, log *slog.Logger) (stop func(), err error) {
	stopHealth, err := serveHTTP("--listen", d.listen, "health and metrics", handler, log)
	if err != nil {
		return nil, err
	}
	profiles := http.NewServeMux()
	profiles.HandleFunc("GET /debug/pprof/", pprof.Index)
	profiles.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	stopProfiles, err := serveHTTP("--pprof", d.pprof, "profiles", profiles, log)
	if err != nil {
		stopHealth()
		return nil, err
	}
	return func() {
		stopProfiles()
		stopHealth()
	}, nil
}

// serveHTTP serves one thing at the address that a flag gave, until the returned
// function is called, which waits. An empty address serves nothing.
func serveHTTP(flag, address, what string, handler http.Handler, log *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	wait := serveOn(server, listener, what, log)
	log.Info(what, "address", listener.Addr().String())
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close() // who still asks is cut off
		}
		wait()
	}, nil
}

// serveOn has a server serve until it is closed, which the returned function waits for.
func serveOn(server *http.Server, listener net.Listener, what string, log *slog.Logger) (wait func()) {
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error(what+": no longer served", "error", err)
		}
	})
	return serving.Wait
}
