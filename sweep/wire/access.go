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

// Access has the addresses of a cluster's NATS servers and a party's credentials. All fields but
// Addresses may be empty.
type Access struct {
	// Addresses are the servers', separated by commas, as nats://HOST:4222. They may contain
	// user and password, or a token.
	Addresses string
	// Credentials is a file with a user's JWT and seed, NKey one with a seed alone.
	Credentials, NKey string
	// Certificate and Key are files with the party's certificate and its key, CA one with the
	// certificates of the servers' authority.
	Certificate, Key, CA string
	// Inbox is the prefix of the subjects of answers; nats.go's if empty. The server lets
	// users subscribe to their own only: see deploy/nats.
	Inbox string
}

// The prefixes of inboxes, one for each party: a party cannot receive another's answers.
const (
	CoordinatorInbox = inboxes + "coordinator"
	ClientInbox      = inboxes + "client"

	inboxes       = "_INBOX."
	workerInboxes = inboxes + "worker."
)

// WorkerInbox is the prefix of the inboxes of a pool's workers.
func WorkerInbox(pool string) string { return workerInboxes + pool }

// isClientInbox reports whether the answer to a request goes to a client's inbox. An answer is
// published with the rights of the answering party: to another subject, such as a job's or one
// that purges a stream, the client may not be allowed to publish.
func isClientInbox(reply string) bool {
	return strings.HasPrefix(reply, inboxes) && !strings.HasPrefix(reply, workerInboxes) &&
		!strings.HasPrefix(reply, CoordinatorInbox+".")
}

// isWorkerInbox reports whether the answer to a heartbeat goes to a worker's inbox.
func isWorkerInbox(reply string) bool {
	return strings.HasPrefix(reply, inboxes) && !strings.HasPrefix(reply, ClientInbox+".") &&
		!strings.HasPrefix(reply, CoordinatorInbox+".")
}

// AuthorizationError means that the servers refuse a party. Retrying does not help until settings
// are changed.
type AuthorizationError struct {
	// Servers are their addresses, without passwords.
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
	case isAny(e.Err, nats.ErrAuthExpired, nats.ErrAccountAuthExpired, nats.ErrAuthRevoked):
		return fmt.Sprintf("NATS at %s does not take these credentials any more: ask for new ones (%v)",
			e.Servers, e.Err)
	}
	return fmt.Sprintf("NATS at %s refuses this user: name one that it knows by --nats-creds, --nats-nkey, "+
		"--nats-cert, or user and password in SWEEP_NATS (%v)", e.Servers, e.Err)
}

// Unwrap returns nats.go's error.
func (e *AuthorizationError) Unwrap() error { return e.Err }

// refused returns an AuthorizationError if a failed attempt to connect was refused, else nil.
func (a *Access) refused(err error) error {
	if err == nil || isLate(err) { // a TLS handshake may be
		return nil
	}
	text := err.Error()
	if isTLS(text) || strings.Contains(text, "x509: ") || isAny(err, nats.ErrAuthorization, nats.ErrAuthExpired,
		nats.ErrAuthRevoked, nats.ErrAccountAuthExpired, nats.ErrNkeysNotSupported, nats.ErrSecureConnWanted) {
		return &AuthorizationError{Redacted(a.Addresses), err}
	}
	return nil
}

// isTLS reports whether an error's text is about TLS: errors of the server have no type.
func isTLS(text string) bool {
	return strings.Contains(text, "tls: ") || strings.Contains(text, "tls error")
}

// options returns the options of a connection. Errors name the file that cannot be read, and do not
// quote addresses.
func (a *Access) options() ([]nats.Option, error) {
	if err := a.checkAddresses(); err != nil {
		return nil, err
	}
	var options []nats.Option
	if a.Credentials != "" && a.NKey != "" {
		return nil, errors.New("--nats-creds and --nats-nkey: a user has one of them")
	}
	if a.Credentials != "" {
		text, err := readFile("--nats-creds", a.Credentials)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(text, []byte("BEGIN NATS USER JWT")) ||
			!bytes.Contains(text, []byte("BEGIN USER NKEY SEED")) {
			return nil, fmt.Errorf("--nats-creds: %s holds no user's JWT and seed, as \"nsc generate creds\" writes "+
				"them; a seed alone is for --nats-nkey", a.Credentials)
		}
		// The file is read for each connection, so that renewed credentials are used.
		options = append(options, nats.UserCredentials(a.Credentials))
	}
	if a.NKey != "" {
		if _, err := readFile("--nats-nkey", a.NKey); err != nil {
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
		text, err := readFile("--nats-ca", a.CA)
		if err != nil {
			return nil, err
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

// readFile reads the file of a setting.
func readFile(setting, path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	return text, wrap(err, "%s", setting)
}

// schemes are those of NATS addresses.
var schemes = map[string]bool{"nats": true, "tls": true, "ws": true, "wss": true}

// checkAddresses returns an error if the addresses cannot be read. It does not include the errors
// of url.Parse, which quote parts of them, passwords included.
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
