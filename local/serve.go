package local

import (
	"context"

	"sweep/sweep"
)

// Serve brings up broker, coordinator and worker, and runs every active sweep of the database, also those
// that are submitted meanwhile, until ctx ends or a part fails. What runs then is interrupted: the next
// Serve or Run resumes it. Begun gets no record, and Watch is not called.
func Serve(ctx context.Context, o Options) error {
	broker, w, c, err := o.bringUp(ctx)
	if err != nil {
		return err
	}
	defer broker.Close()
	defer o.Ended()
	if err := o.Begun(c, nil); err != nil {
		return err
	}
	_, err = o.train(ctx, w, c, sweep.DefaultPool, func(context.Context) {}, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	return err
}
