-- Whoever leads has a lease until expires_at and renews it before: see store/lead.go.
ALTER TABLE cluster ADD COLUMN expires_at TEXT;
