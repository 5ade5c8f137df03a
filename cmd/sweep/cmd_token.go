package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"sweep/coordinator/web"
)

func newToken(s *settings) *cobra.Command {
	var path string
	cmd := family("token", "Create, list and revoke tokens of the dashboard",
		`With a token, people and programs can read the dashboard from other machines and, unless
the token is read-only, retry and cancel trials. The tokens' digests are stored in a file
in the state directory of the user who serves the dashboard; the tokens themselves are
not stored. Changes apply at once.`,
		"  sweep token create alice\n  sweep token list\n  sweep token revoke alice",
		newTokenCreate(s, &path), newTokenList(s, &path), newTokenRevoke(s, &path))
	cmd.PersistentFlags().StringVar(&path, "tokens", "", "file of the tokens (default: tokens.json in the state "+
		"directory)")
	return cmd
}

// openTokens opens the dashboard's tokens, which are in the state directory if path is empty.
func (s *settings) openTokens(path string) (*web.Tokens, error) {
	if path == "" {
		home, err := s.homeDir()
		return web.OpenTokens(filepath.Join(home, "tokens.json")), err
	}
	path, err := filepath.Abs(path)
	return web.OpenTokens(path), err
}

func newTokenCreate(s *settings, path *string) *cobra.Command {
	var readOnly bool
	var lasting time.Duration
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a token and print it",
		Long: `It cannot be shown again. Programs send it as "Authorization: Bearer TOKEN"; people
enter it in the dashboard.

Exit codes: 0 done, 1 the name is taken.`,
		Example: "  sweep token create alice\n  sweep token create screen --read-only --expires 720h",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lasting < 0 {
				return usageError("--expires %v: expected a positive duration", lasting)
			}
			tokens, err := s.openTokens(*path)
			if err != nil {
				return err
			}
			secret, err := tokens.Create(args[0], readOnly, lasting)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), secret)
			return nil
		},
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "allow reading only")
	cmd.Flags().DurationVar(&lasting, "expires", 0, "how long the token is valid, such as 720h (default: until it is "+
		"revoked)")
	return cmd
}

func newTokenList(s *settings, path *string) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the tokens, without their secrets",
		Long:    "Exit codes: 0 done, 1 the file cannot be read.",
		Example: "  sweep token list\n  sweep token list --tokens /srv/sweep/tokens.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tokens, err := s.openTokens(*path)
			if err != nil {
				return err
			}
			list, err := tokens.List()
			if err != nil {
				return err
			}
			w := newColumns(cmd.OutOrStdout())
			fmt.Fprintln(w, "NAME\tMAY\tCREATED\tEXPIRES")
			for _, t := range list {
				may, expires := "read, act", "never"
				if t.ReadOnly {
					may = "read"
				}
				if !t.ExpiresAt.IsZero() {
					expires = t.ExpiresAt.Local().Format(time.DateTime)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, may, t.CreatedAt.Local().Format(time.DateTime), expires)
			}
			return w.Flush()
		},
	}
}

func newTokenRevoke(s *settings, path *string) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke NAME",
		Short:   "Revoke a token and end its sessions at once",
		Long:    "Exit codes: 0 done, 4 no such token.",
		Example: "  sweep token revoke alice",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tokens, err := s.openTokens(*path)
			if err != nil {
				return err
			}
			if err := tokens.Revoke(args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "token %s is revoked\n", args[0])
			return nil
		},
	}
}
