package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Token says who may use the dashboard from elsewhere, and act. Its secret is shown
// once, when it is made; kept is the secret's digest, which nobody can go back from,
// since the secret is 256 random bits.
type Token struct {
	Name string `json:"name"`
	// Digest is the hexadecimal SHA-256 of the secret.
	Digest    string    `json:"digest"`
	ReadOnly  bool      `json:"read_only,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt is when it ends; zero never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

func (t *Token) expired() bool { return !t.ExpiresAt.IsZero() && time.Now().After(t.ExpiresAt) }

// Tokens is a file of tokens, which is read again when it has changed.
type Tokens struct {
	path string
	mu   sync.Mutex
	seen fs.FileInfo
	list []Token
}

// OpenTokens returns the tokens of a file, which need not exist yet.
func OpenTokens(path string) *Tokens { return &Tokens{path: path} }

var tokenName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// Create makes a token and returns its secret.
func (t *Tokens) Create(name string, readOnly bool, lasting time.Duration) (secret string, err error) {
	if !tokenName().MatchString(name) {
		return "", fmt.Errorf("token %.70q: a name has up to 64 letters, digits and . _ - behind a letter or digit",
			name)
	}
	secret = "sweep_" + rand.Text() + rand.Text()
	one := Token{Name: name, Digest: digest(secret), ReadOnly: readOnly,
		CreatedAt: time.Now().UTC().Truncate(time.Second)}
	if lasting > 0 {
		one.ExpiresAt = one.CreatedAt.Add(lasting)
	}
	return secret, t.change(func(list []Token) ([]Token, error) {
		if slices.ContainsFunc(list, func(one Token) bool { return one.Name == name }) {
			return nil, fmt.Errorf("token %s already exists: revoke it first, or choose another name", name)
		}
		return append(list, one), nil
	})
}

// Revoke takes a token back; sessions that it was exchanged for end.
func (t *Tokens) Revoke(name string) error {
	return t.change(func(list []Token) ([]Token, error) {
		kept := slices.DeleteFunc(slices.Clone(list), func(one Token) bool { return one.Name == name })
		if len(kept) == len(list) {
			return nil, fmt.Errorf("token %q does not exist: %w", name, fs.ErrNotExist)
		}
		return kept, nil
	})
}

// change replaces the tokens by what do makes of them. Other processes that change them wait: a token that one of
// them revokes does not come back, and none that it creates is lost.
func (t *Tokens) change(do func(list []Token) ([]Token, error)) error {
	lock, err := os.OpenFile(t.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	defer func() { _ = lock.Close() }() // which gives the lock up
	if err := lockFile(lock); err != nil {
		return fmt.Errorf("tokens: lock %s: %w", lock.Name(), err)
	}
	list, err := t.read()
	if err == nil {
		list, err = do(list)
	}
	if err != nil {
		return err
	}
	return t.write(list)
}

// List returns all tokens, without their secrets.
func (t *Tokens) List() ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		t.list, t.seen = nil, nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	if t.seen != nil && os.SameFile(info, t.seen) && info.ModTime().Equal(t.seen.ModTime()) &&
		info.Size() == t.seen.Size() {
		return t.list, nil
	}
	list, err := t.read()
	if err != nil {
		return nil, err
	}
	if t.list, t.seen = list, info; time.Since(info.ModTime()) < unchanged {
		t.seen = nil
	}
	return list, nil
}

// unchanged is how old a file must be for its list to be remembered: the times of file systems are coarse, and a
// file that is replaced soon afterwards may look the same.
const unchanged = 2 * time.Second

// read reads the file, which may be missing.
func (t *Tokens) read() (list []Token, err error) {
	data, err := os.ReadFile(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("tokens: %s cannot be read: %w; remove it to start over", t.path, err)
	}
	return list, nil
}

// write replaces the file, which only its owner may read.
func (t *Tokens) write(list []Token) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(t.path), ".tokens-*") // its mode is 0600
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	_, err = file.Write(append(data, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), t.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("tokens: %w", err), os.Remove(file.Name()))
	}
	return nil
}

// Find returns the token with a secret, nil if there is none that is valid.
func (t *Tokens) Find(secret string) *Token {
	return t.withDigest(digest(secret)) // of digests nothing is to be learnt by time
}

func (t *Tokens) withDigest(digest string) *Token {
	list, err := t.List()
	if err != nil {
		return nil // who cannot be known is nobody
	}
	for i := range list {
		if list[i].Digest == digest && !list[i].expired() {
			return new(list[i])
		}
	}
	return nil
}

func digest(secret string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(secret))) }
