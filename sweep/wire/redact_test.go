package wire_test

import (
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"sweep/sweep/wire"
)

func TestRedacted(t *testing.T) {
	for address, want := range map[string]string{
		"":                      "",
		"localhost":             "localhost",
		"nats://localhost:4222": "nats://localhost:4222",
		"nats://u:secret@a:4222,nats://u:secret@b:42":   "nats://u:xxxxx@a:4222,nats://u:xxxxx@b:42",
		"nats://u:secret@a:4222, nats://u:secret@b:42":  "nats://u:xxxxx@a:4222, nats://u:xxxxx@b:42",
		"nats://u:secret@a,b:4222":                      "nats://u:xxxxx@a,b:4222",
		"nats://token@a:4222":                           "nats://xxxxx@a:4222",
		"tls://:secret@a:4222":                          "tls://:xxxxx@a:4222",
		"nats://u:se,cret@a:4222":                       "nats://u:xxxxx@a:4222",
		"nats://u:se@cret@a:4222":                       "nats://u:xxxxx@a:4222",
		"nats://u:se/cret@a:4222":                       "nats://u:xxxxx@a:4222",
		"nats://u:se#cret@a:4222":                       "nats://u:xxxxx@a:4222",
		"nats://u:se%cret@a:4222":                       "nats://u:xxxxx@a:4222",
		"nats://u:12,3@a:4222":                          "nats://u:xxxxx@a:4222",
		"nats://u:secret":                               "nats://xxxxx",
		"u:secret@a:4222":                               "u:xxxxx@a:4222",
		"postgres://sweep@db/sweep":                     "postgres://sweep@db/sweep",
		"postgres://sweep:secret@db/sweep?sslmode=off":  "postgres://sweep:xxxxx@db/sweep?sslmode=off",
		"postgres://db/sweep?password=secret":           "postgres://db/sweep?password=xxxxx",
		"postgres://db/sweep?a=b&PassWord=se&cret#x":    "postgres://db/sweep?a=b&PassWord=xxxxx",
		"postgres://db/sweep?pass%77ord=secret":         "postgres://db/sweep?pass%77ord=xxxxx",
		"postgres://db/sweep?sslpassword=secret":        "postgres://db/sweep?sslpassword=xxxxx",
		"postgres://u:secret@db/sweep?sslpassword=more": "postgres://u:xxxxx@db/sweep?sslpassword=xxxxx",
		"postgres://db/sweep?password=se@cret":          "postgres://xxxxx",
		"host=db password=secret dbname=sweep":          "host=db password=xxxxx",
		"host=db password = 'se cret' dbname=sweep":     "host=db password =xxxxx",
		"sqlite:/data/lr=0.1/sweep.db":                  "sqlite:/data/lr=0.1/sweep.db",
	} {
		if got := wire.Redacted(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// TestRedactedHidesEveryPiece: whatever characters stand in a password, escaped
// or not, no piece of it is left; nor in the error of an address that cannot be
// read because of them.
func TestRedactedHidesEveryPiece(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	signs := []string{"%", "%zz", "%20", "#", ",", "@", "/", "?", ":", "&", "=", " ", "'", `\`, `"`, "[", "]", ";", "+",
		"!", "$", "*", "://", "password=", "?password=", "token=", "\x7f", "ä"}
	piece := func() string {
		text := make([]byte, 6)
		for i := range text {
			text[i] = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"[random.IntN(34)]
		}
		return string(text)
	}
	rounds := 10_000
	if testing.Short() { // of one goroutine
		rounds = 300
	}
	for range rounds {
		pieces := []string{piece()}
		password := pieces[0]
		for range random.IntN(4) {
			next := piece()
			pieces = append(pieces, next)
			password += signs[random.IntN(len(signs))] + next
		}
		password += signs[random.IntN(len(signs))]
		users := []string{"u", "worker-1", "a.b_c", "", "mail@host", "a%b"}
		user := users[random.IntN(len(users))]
		for _, address := range []string{
			"nats://" + user + ":" + password + "@host:4222",
			"nats://" + user + ":" + password + "@host:4222,nats://" + user + ":" + password + "@other",
			"nats://" + strings.ReplaceAll(password, ":", "") + "@host", // a token; with a colon it would be a user
			"nats://other:4222,nats://" + user + ":" + password + "@host",
			"tls://" + url.UserPassword(user, password).String() + "@host",
			"postgres://" + user + ":" + password + "@db/sweep?sslmode=disable",
			"postgres://" + url.UserPassword(user, password).String() + "@db/sweep",
			"postgres://db/sweep?password=" + password,
			"postgres://db/sweep?user=u&sslpassword=" + url.QueryEscape(password) + "&sslmode=require",
			"postgres://u@db/sweep?passwor%64=" + password,
			"host=db password='" + password + "' dbname=sweep",
			"user=u password = " + password,
		} {
			texts := []string{wire.Redacted(address)}
			if strings.HasPrefix(address, "nats") || strings.HasPrefix(address, "tls") {
				// refused before anybody is asked
				if _, err := wire.Connect(wire.Access{Addresses: address, Inbox: "*"}, "test",
					slog.New(slog.DiscardHandler)); err != nil {
					texts = append(texts, err.Error())
				}
			}
			for _, text := range texts {
				for _, p := range pieces {
					if strings.Contains(text, p) {
						t.Fatalf("%q shows %q of the password:\n%q", address, p, text)
					}
				}
			}
		}
	}
}

// FuzzRedacted: no user's password is left whole, whatever it is.
func FuzzRedacted(f *testing.F) {
	f.Add("u", "secret")
	f.Add("a@b", "12,nats://")
	f.Add("", "%zz")
	f.Fuzz(func(t *testing.T, user, password string) {
		if len(password) < 6 || strings.Contains("nats://xxxxx@host:4222 nats://:xxxxx@host "+
			"postgres://:xxxxx@host/db?password=xxxxx", password) || strings.Contains(user, password) {
			return // it may stand there by itself
		}
		for _, address := range []string{
			"nats://" + user + ":" + password + "@host:4222", "postgres://" + user + ":" + password + "@host/db",
			"postgres://host/db?password=" + password, "password=" + password,
		} {
			if got := wire.Redacted(address); strings.Contains(got, password) {
				t.Errorf("%q: %q", address, got)
			}
		}
	})
}
