package wire

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// hidden replaces a secret.
const hidden = "xxxxx"

// Redacted returns addresses of NATS servers or of a database, or a database's settings (host=…
// password=…), without passwords and tokens. It also hides what may be part of a password, since
// people forget to escape them.
func Redacted(text string) string {
	head, tail := text, ""
	if at := passwordParameter(text); at >= 0 {
		head, tail = text[:at], text[at:strings.IndexByte(text[at:], '=')+at+1]+hidden
		if strings.Contains(text[at:], "@") && strings.Contains(head, "://") {
			// Perhaps it is a password that looks like a parameter.
			return head[:strings.Index(head, "://")+len("://")] + hidden
		}
	}
	return redactUsers(head) + tail
}

// parameter matches a name, perhaps with escapes, and its equals sign.
var parameter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z0-9_%.+-]+\s*=`) })

// passwordParameter returns where the first parameter begins whose name suggests a password, -1 if
// there is none. Everything after it may belong to the password.
func passwordParameter(text string) int {
	for _, at := range parameter().FindAllStringIndex(text, -1) {
		name := text[at[0]:at[1]]
		if unescaped, err := url.QueryUnescape(name); err == nil {
			name = unescaped
		}
		name = strings.ToLower(name)
		for _, word := range []string{"password", "passwd", "pwd", "secret", "token"} {
			if strings.Contains(name, word) {
				return at[0]
			}
		}
	}
	return -1
}

// redactUsers hides what is between :// and @.
func redactUsers(text string) string {
	list := strings.Split(text, ",")
	if !strings.Contains(text, "@") {
		for i, address := range list {
			scheme, _, found := strings.Cut(address, "://")
			// a user and a password, perhaps, whose server was forgotten
			if _, err := url.Parse(address); found && err != nil {
				list[i] = scheme + "://" + hidden
			}
		}
		return strings.Join(list, ",")
	}
	last := 0 // the last that has a user
	for i, address := range list {
		if strings.Contains(address, "@") {
			last = i
		}
	}
	for i := range last + 1 {
		var certain bool
		if list[i], certain = redactUser(list[i]); !certain {
			// A comma, an @ or a slash of a password: nothing up to the last @ can be trusted.
			scheme, rest, found := strings.Cut(text, "://")
			if !found {
				scheme, rest = "", text
			} else {
				scheme += "://"
			}
			return scheme + userOf(rest) + hidden + text[strings.LastIndexByte(text, '@'):]
		}
	}
	return strings.Join(list, ",")
}

// userOf returns the user's name before a password, with the colon; "" if there is none, or it may
// be part of a token or password.
func userOf(rest string) string {
	user, _, found := strings.Cut(rest, ":")
	if !found || !plainUser().MatchString(user) {
		return ""
	}
	return user + ":"
}

// plainUser matches a name that is hardly a secret.
var plainUser = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]*$`) })

// redactUser hides the password or token of one address. certain means that it is certain where it
// begins and ends.
func redactUser(address string) (redacted string, certain bool) {
	scheme, rest, found := strings.Cut(address, "://")
	database := strings.HasPrefix(scheme, "postgres")
	if !found || strings.Count(rest, "@") != 1 || !database && !schemes[strings.TrimSpace(scheme)] {
		return address, false
	}
	secret, host, _ := strings.Cut(rest, "@")
	if secret == "" || strings.ContainsAny(secret, "/?#[]") {
		return address, false
	}
	user, _, hasPassword := strings.Cut(secret, ":")
	switch {
	case hasPassword:
		return scheme + "://" + user + ":" + hidden + "@" + host, true
	case database: // a user without a password
		return address, true
	}
	return scheme + "://" + hidden + "@" + host, true // a token
}
