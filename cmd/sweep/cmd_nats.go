package main

import (
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/spf13/cobra"
)

// newNATS serves those who try a cluster out and have no nats-server: it is the
// same server, with the settings of deploy/nats.conf.
func newNATS() *cobra.Command {
	var listen, dir, config string
	var always bool
	cmd := &cobra.Command{
		Use:   "nats",
		Short: "Run a NATS server with JetStream, to try a cluster on one machine",
		Long: `A real cluster has its own NATS servers: see deploy/nats.conf. Everyone who reaches
this server may do everything, unless --server-config names a settings file of
nats-server with users, such as deploy/nats/users.conf.

Exit codes: 0 stopped, 1 error.`,
		Example: "  sweep nats\n  sweep nats --listen 127.0.0.1:4222 --dir /var/tmp/nats",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			address, err := net.ResolveTCPAddr("tcp", listen)
			if err != nil || address.IP == nil {
				return usageError("--listen %s: expected HOST:PORT", listen)
			}
			options := &server.Options{}
			if config != "" {
				if options, err = server.ProcessConfigFile(config); err != nil {
					return usageError("--server-config: %w", err)
				}
			}
			options.ServerName, options.Host, options.Port = "sweep", address.IP.String(), address.Port
			options.JetStream, options.StoreDir, options.SyncAlways, options.MaxPayload = true, dir, always, maxPayload
			options.NoSigs, options.Logtime = true, true
			s, err := server.NewServer(options)
			if err != nil {
				return fmt.Errorf("NATS server: %w", err)
			}
			s.ConfigureLogger()
			s.Start()
			defer s.WaitForShutdown()
			defer s.Shutdown()
			if !s.ReadyForConnections(10 * time.Second) {
				return fmt.Errorf("NATS server: not ready after 10 s: is %s taken, or the disk of %s full?", listen,
					dir)
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "NATS server ready on", s.ClientURL())
			<-cmd.Context().Done()
			return nil
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:4222", "address to listen on")
	cmd.Flags().StringVar(&config, "server-config", "", "settings file of nats-server: users, permissions, TLS")
	cmd.Flags().StringVar(&dir, "dir", "nats", "directory for JetStream's files")
	cmd.Flags().BoolVar(&always, "sync-always", false, "write every message to disk before acknowledging it")
	return cmd
}

// maxPayload is the largest message, as in deploy/nats.conf: long curves fit.
const maxPayload = 8 << 20
