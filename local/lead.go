package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sweep/sweep"
)

// leadPatience is how long a run waits for the lead, beyond the time for which another
// command has it to bring the schema up to date: in Postgres the lease of a leader that was
// killed must run out first.
const leadPatience = 6 * time.Second

// noticeAfter is how long a run waits without saying so.
const noticeAfter = time.Second

// Lead takes the lead of a database for a process that calls itself holder, if no other
// process keeps it.
func Lead(ctx context.Context, results sweep.Store, holder string, out io.Writer) (sweep.Lead, error) {
	other := ""
	var notice *time.Timer
	waiting := func(leader string) {
		other = leader
		notice = time.AfterFunc(noticeAfter, func() {
			fmt.Fprintf(out, "waiting for this database, which another process is using (%s)\n", leader)
		})
	}
	defer func() {
		if notice != nil {
			notice.Stop()
		}
	}()
	lead, err := results.Lead(ctx, sweep.LeadOptions{Holder: holder, Waiting: waiting, Patience: leadPatience})
	if errors.Is(err, sweep.ErrLed) {
		return nil, fmt.Errorf("another process is using this database (%s): wait for it, or use another --home "+
			"or --store", other)
	}
	return lead, err
}
