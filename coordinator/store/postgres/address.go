package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// errAddress says what an address is. The address itself is not repeated, nor are
// the words of those who read it: either may show a piece of a password.
var errAddress = errors.New("the database address cannot be read: expected postgres://USER@HOST:PORT/NAME?…; " +
	"the password goes into PGPASSWORD or ~/.pgpass, or with the characters % # / ? @ : [ ] written as %25 %23 %2F " +
	"%3F %40 %3A %5B %5D into the address")

// parseAddress reads an address. Its errors show no password.
func parseAddress(address string) (*pgxpool.Config, error) {
	u, err := url.Parse(address)
	if err != nil || u.Fragment != "" || strings.Count(address, "@") > 1 || u.User == nil &&
		strings.Contains(address, "@") {
		return nil, errAddress
	}
	config, err := pgxpool.ParseConfig(address)
	if err == nil {
		return config, nil
	}
	// Read without the passwords it has the same error, unless it is theirs.
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Del(name)
		}
	}
	u.RawQuery = query.Encode()
	if _, err := pgxpool.ParseConfig(u.String()); err != nil {
		return nil, fmt.Errorf("database address: %w", err)
	}
	return nil, errAddress
}
