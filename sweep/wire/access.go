package wire

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
)

// Access says where a cluster's NATS servers are, and as whom a party comes.
// The fields but Addresses may be empty.
type Access struct {
	// Addresses are the servers', separated by commas, as nats://HOST:4222. They
	// may have user and password, or a token.
	Addresses string
	// Credentials is a file with a user's JWT and seed, NKey one with a seed alone.
	Credentials, NKey string
	// Certificate and Key are files with the party's own certificate and its key,
	// CA one with the certificates of who signs the servers'.
	Certificate, Key, CA string
	// Inbox begins the subjects on which answers come; nats.go's if empty. The
	// server lets a user hear his own only: see deploy/nats.
	Inbox string
}

// The beginnings of inboxes, a party each: who may hear one party's answers does
// not hear another's.
const (
	CoordinatorInbox = inboxes + "coordinator"
	ClientInbox      = inboxes + "client"

	inboxes       = "_INBOX."
	workerInboxes = inboxes + "worker."
)

// WorkerInbox begins the inboxes of a pool's workers.
func WorkerInbox(pool string) string { return workerInboxes + pool }

// isClientInbox reports whether a request wants its answer where clients hear
// theirs. Who answers elsewhere does what he may do and the asker may not: the
// asker could name a job's subject, or one by which a stream is emptied.
func isClientInbox(reply string) bool {
	return strings.HasPrefix(reply, inboxes) && !strings.HasPrefix(reply, workerInboxes) &&
		!strings.HasPrefix(reply, CoordinatorInbox+".")
}

// isWorkerInbox reports the same of a worker's heartbeat.
func isWorkerInbox(reply string) bool {
	return strings.HasPrefix(reply, inboxes) && !strings.HasPrefix(reply, ClientInbox+".") &&
		!strings.HasPrefix(reply, CoordinatorInbox+".")
}

// AuthorizationError says that the servers refuse a party. Trying again does not
// help until somebody changes something.
type AuthorizationError struct {
	// Servers are those asked, without passwords.
	Servers string
	Err     error
}

// Error implements error.
func (e *AuthorizationError) Error() string {
	switch text := e.Err.Error(); {
	case strings.Contains(text, "x509: certificate signed by unknown authority"):
		return fmt.Sprintf("the certificate of NATS at %s is signed by nobody known here: name the file of its CA by "+
			"--nats-ca (%v)", e.Servers, e.Err)
	case strings.Contains(text, "x509: "):
		return fmt.Sprintf("the certificate of NATS at %s is not accepted: %v", e.Servers, e.Err)
	case isTLS(text):
		return fmt.Sprintf("NATS at %s refuses the TLS connection: does it want a certificate (--nats-cert, "+
			"--nats-key)? (%v)", e.Servers, e.Err)
	case errors.Is(e.Err, nats.ErrSecureConnWanted):
		return fmt.Sprintf("NATS at %s speaks no TLS: it has none, or this is another server (%v)", e.Servers, e.Err)
	case errors.Is(e.Err, nats.ErrAuthExpired), errors.Is(e.Err, nats.ErrAccountAuthExpired),
		errors.Is(e.Err, nats.ErrAuthRevoked):
		return fmt.Sprintf("NATS at %s does not take these credentials any more: ask for new ones (%v)",
			e.Servers, e.Err)
	}
	return fmt.Sprintf("NATS at %s refuses this user: name one that it knows by --nats-creds, --nats-nkey, "+
		"--nats-cert, or user and password in SWEEP_NATS (%v)", e.Servers, e.Err)
}

// Unwrap returns nats.go's error.
func (e *AuthorizationError) Unwrap() error { return e.Err }

// refused returns an AuthorizationError if that is what an attempt to connect
// has come to, else nil.
func (a *Access) refused(err error) error {
	if err == nil {
		return nil
	}
	for _, refusal := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked,
		nats.ErrAccountAuthExpired,
		nats.ErrNkeysNotSupported, nats.ErrSecureConnWanted} {
		if errors.Is(err, refusal) {
			return &AuthorizationError{Redacted(a.Addresses), err}
		}
	}
	if text := err.Error(); isTLS(text) || strings.Contains(text, "x509: ") {
		return &AuthorizationError{Redacted(a.Addresses), err}
	}
	return nil
}

// isTLS reports whether an error's text is about TLS: the errors of the server's
// side have no type of their own.
func isTLS(text string) bool {
	return strings.Contains(text, "tls: ") || strings.Contains(text, "tls error")
}

// options are those of a connection. What cannot be read is an error that says
// which file it is, or that it is the addresses, which are not repeated.
func (a *Access) options() ([]nats.Option, error) {
	if err := a.checkAddresses(); err != nil {
		return nil, err
	}
	var options []nats.Option
	if a.Credentials != "" && a.NKey != "" {
		return nil, errors.New("--nats-creds and --nats-nkey: a user has one of them")
	}
	if a.Credentials != "" {
		text, err := readSecret("--nats-creds", a.Credentials)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(text, []byte("BEGIN NATS USER JWT")) ||
			!bytes.Contains(text, []byte("BEGIN USER NKEY SEED")) {
			return nil, fmt.Errorf("--nats-creds: %s holds no user's JWT and seed, as \"nsc generate creds\" writes "+
				"them; a seed alone is for --nats-nkey", a.Credentials)
		}
		// Read again for each connection: credentials that are renewed are used.
		options = append(options, nats.UserCredentials(a.Credentials))
	}
	if a.NKey != "" {
		if _, err := readSecret("--nats-nkey", a.NKey); err != nil {
			return nil, err
		}
		option, err := nats.NkeyOptionFromSeed(a.NKey)
		if err != nil {
			return nil, fmt.Errorf("--nats-nkey: %s holds no user's seed (SU…): %w", a.NKey, err)
		}
		options = append(options, option)
	}
	if (a.Certificate == "") != (a.Key == "") {
		return nil, errors.New("--nats-cert and --nats-key: a certificate and its key go together")
	}
	if a.Certificate != "" {
		if _, err := tls.LoadX509KeyPair(a.Certificate, a.Key); err != nil {
			return nil, fmt.Errorf("--nats-cert %s, --nats-key %s: expected a certificate and its key in PEM: %w",
				a.Certificate, a.Key, err)
		}
		options = append(options, nats.ClientCert(a.Certificate, a.Key))
	}
	if a.CA != "" {
		text, err := os.ReadFile(a.CA)
		if err != nil {
			return nil, fmt.Errorf("--nats-ca: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--nats-ca: %s holds no certificate in PEM", a.CA)
		}
		options = append(options, nats.RootCAs(a.CA))
	}
	if a.Inbox != "" {
		if !strings.HasPrefix(a.Inbox, inboxes) || strings.ContainsAny(a.Inbox, "*> \t\r\n") ||
			strings.HasSuffix(a.Inbox, ".") {
			return nil, fmt.Errorf("--nats-inbox %q: expected the beginning of a subject, as _INBOX.lisa, without "+
				"wildcards", a.Inbox)
		}
		options = append(options, nats.CustomInboxPrefix(a.Inbox))
	}
	return options, nil
}

// readSecret reads a file that a setting names.
func readSecret(setting, path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return text, nil
}

// schemes are those of NATS.
var schemes = map[string]bool{"nats": true, "tls": true, "ws": true, "wss": true}

// checkAddresses reports whether the addresses can be read. The errors of
// url.Parse repeat them, passwords included, in pieces too: they are not shown.
func (a *Access) checkAddresses() error {
	if strings.TrimSpace(a.Addresses) == "" {
		return errors.New("no address of a NATS server: expected nats://HOST:4222")
	}
	for address := range strings.SplitSeq(a.Addresses, ",") {
		address = strings.TrimSpace(address)
		if !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" || strings.Contains(u.Path, "@") || u.Fragment != "" ||
			strings.Contains(u.RawQuery, "@") {
			return fmt.Errorf("the NATS address %s cannot be read: expected nats://HOST:4222, several separated by "+
				"commas; "+
				"in a user's name or password the characters %% # , / ? @ : and [ ] are written as %%25 %%23 %%2C "+
				"%%2F %%3F %%40 %%3A %%5B %%5D", Redacted(a.Addresses))
		}
		if !schemes[u.Scheme] {
			return fmt.Errorf("the NATS address %s: expected nats://, tls://, ws:// or wss://", Redacted(a.Addresses))
		}
	}
	return nil
}
