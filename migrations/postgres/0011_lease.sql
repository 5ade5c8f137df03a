-- Whoever leads has a lease until expires_at, by the clock of this server, and renews it before: see store/lead.go.
ALTER TABLE cluster ADD COLUMN expires_at timestamptz;
