package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// quietLimit is how long records and streams may take to be empty after the last result.
	quietLimit = 30 * time.Second
	// endLimit is how long a daemon may take to end.
	endLimit = 25 * time.Second
	// leftLimit is how long a worker's processes may live after it.
	leftLimit = 5 * time.Second
)

// check waits for the sweeps and finds out what does not hold.
func (c *cluster) check(ctx context.Context, limit time.Duration, calm results, done *outcome) error {
	mended := time.Now()
	if err := c.resumeAll(ctx); err != nil {
		return err
	}
	err := c.until(ctx, limit, func() error {
		return c.none(ctx, "sweeps have not ended", `SELECT string_agg(s.name || ' ' || s.state || ' ' ||
			(SELECT count(*) FROM trials AS t WHERE t.sweep_no = s.sweep_no
				AND t.state IN ('pending', 'queued', 'running'))
			|| ' left', ', ') FROM sweeps AS s WHERE s.deleted_at IS NULL AND s.state NOT IN ('finished', 'cancelled')`)
	})
	done.rest = time.Since(mended)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.note(err)
	c.note(c.until(ctx, quietLimit, func() error {
		return c.none(ctx, "executions run for ever", `SELECT string_agg(s.name || '/' || t.trial_index || ' (' ||
			t.state || ') on ' || e.worker, ', ')
			FROM executions AS e JOIN trials AS t USING (trial_no) JOIN sweeps AS s USING (sweep_no)
			WHERE e.outcome = 'running' AND s.deleted_at IS NULL`)
	}))
	c.note(c.until(ctx, quietLimit, func() error { return c.emptyStreams(ctx) }))
	c.note(c.none(ctx, "results of repeated executions differ",
		`SELECT nullif(count(*), 0)::text FROM reproducibility_faults`))
	c.note(c.none(ctx, "events are in quarantine", `SELECT string_agg(DISTINCT error, ', ') FROM quarantine`))
	got, err := c.read(ctx, c.path("user"), c.database(postgresPort))
	if c.note(err); err == nil {
		if difference := got.differs(calm); difference != "" {
			c.problem("%s", difference)
		}
	}
	again, err := c.text(ctx, `SELECT count(*)::text FROM results WHERE executions > 1`)
	if err != nil {
		return err
	}
	if done.again, err = strconv.Atoi(again); err != nil {
		return err
	}
	c.endAll()
	return nil
}

// resumeAll resumes the sweeps, which faults may have paused.
func (c *cluster) resumeAll(ctx context.Context) error {
	for _, s := range sweeps {
		err := c.until(ctx, time.Minute, func() error {
			_, err := c.command(ctx, "resume", s.name)
			if err != nil && strings.Contains(err.Error(), "only a paused sweep can be resumed") { // it has ended
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// note notes an error as a problem.
func (c *cluster) note(err error) {
	if err != nil {
		c.problem("%v", err)
	}
}

// none returns an error if a query lists something.
func (c *cluster) none(ctx context.Context, what, query string) error {
	list, err := c.text(ctx, query)
	switch {
	case err != nil:
		return fmt.Errorf("looking whether %s: %w", what, err)
	case list != "":
		return fmt.Errorf("%s: %.300s", what, list)
	}
	return nil
}

// emptyStreams returns an error if streams of jobs or events hold messages.
func (c *cluster) emptyStreams(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	response, err := c.get(ctx, "/jsz?streams=1&accounts=1")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Accounts []struct {
			Streams []struct {
				Name  string                 `json:"name"`
				State struct{ Messages int } `json:"state"`
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("reading the broker's streams: %w", err)
	}
	found := false
	var left []string
	for _, account := range answer.Accounts {
		for _, stream := range account.Streams {
			found = found || stream.Name == "SWEEP_EVENTS"
			if n := stream.State.Messages; n > 0 && strings.HasPrefix(stream.Name, "SWEEP_") {
				left = append(left, fmt.Sprintf("%d in %s", n, stream.Name))
			}
		}
	}
	switch {
	case !found:
		return errors.New("the broker has no stream of events")
	case len(left) > 0:
		return fmt.Errorf("messages are left: %s", strings.Join(left, ", "))
	}
	return nil
}

// endAll ends workers and coordinators, and looks for what they leave behind.
func (c *cluster) endAll() {
	for _, p := range c.daemons() {
		if crash := p.crashed(); crash != "" {
			c.problem("%s", crash)
		}
		p.signal(syscall.SIGTERM)
	}
	deadline := time.Now().Add(endLimit)
	for _, p := range c.daemons() {
		if !p.wait(time.Until(deadline)) {
			c.problem("%s does not end within %v of SIGTERM", p.name, endLimit)
			p.kill()
		}
	}
	// A trainer's process may take a moment to end after its worker.
	var left []int
	for deadline := time.Now().Add(leftLimit); time.Now().Before(deadline); time.Sleep(retryPause) {
		if left = withEnv("SWEEP_HOME=" + c.dir + "/worker"); len(left) == 0 {
			return
		}
	}
	c.problem("%d processes are left of workers that have ended", len(left))
}
