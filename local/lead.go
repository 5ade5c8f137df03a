package local

import (
	"context"
	"fmt"
	"io"
	"time"

	"sweep/sweep"
)

// leadPatience is how long a run waits for the lead: another command has it for
// a moment if it makes the database's schema, and in Postgres the lease of one that was
// killed must run out first.
const leadPatience = 6 * time.Second

// Lead takes the lead of a database for a process that calls itself holder, if no other
// process keeps it.
func Lead(ctx context.Context, results sweep.Store, holder string, out io.Writer) (sweep.Lead, error) {
	waiting, giveUp := context.WithCancel(ctx)
	defer giveUp()
	other := ""
	lead, err := results.Lead(waiting, sweep.LeadOptions{Holder: holder, Waiting: func(leader string) {
		other = leader
		time.AfterFunc(leadPatience, giveUp)
		time.AfterFunc(time.Second, func() {
			if waiting.Err() == nil {
				fmt.Fprintf(out, "waiting for this database, which another process is using (%s)\n", leader)
			}
		})
	}})
	if err != nil && other != "" && ctx.Err() == nil {
		return nil, fmt.Errorf("another process is using this database (%s): wait for it, or use another --home "+
			"or --store", other)
	}
	return lead, err
}
