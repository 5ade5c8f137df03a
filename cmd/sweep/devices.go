package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"sweep/sweep"
	"sweep/worker/device"
)

// deviceFlags are the flags by which trials may hold devices of this machine.
type deviceFlags struct {
	devices []string
	idle    string
}

func (d *deviceFlags) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&d.devices, "devices", []string{"auto"}, "the devices of this machine that trials may hold: auto "+
		"(the GPUs that are found, of those that CUDA_VISIBLE_DEVICES or Slurm leave), none, gpu=0,2-3 (GPUs by number), "+
		"or NAME=4 for other things; repeat the flag")
	f.StringVar(&d.idle, "gpu-idle-memory", "500MiB", "memory of a GPU that may be in use while no trial holds it; if "+
		"more is in use, it belongs to somebody else and no trial gets it")
}

// find finds the devices, nil if there are none.
func (d *deviceFlags) find(ctx context.Context, log *slog.Logger) (*device.Pool, error) {
	choice, err := device.ParseChoice(d.devices)
	if err != nil {
		return nil, usageError("--devices %w", err)
	}
	idle, err := sweep.ParseSize(d.idle)
	if err != nil {
		return nil, usageError("--gpu-idle-memory %w", err)
	}
	machine, err := device.Find(ctx, choice)
	if err != nil {
		return nil, fmt.Errorf("%w; --devices none leaves GPUs out", err)
	}
	return device.NewPool(machine, device.Options{Idle: idle, Logger: log}), nil
}

// forPlan finds the devices that the trials of a sweep may hold, nil if they hold none, and refuses a sweep that needs
// more than there are. fit is how many trials there is room for at the same time, 0 if devices set no bound.
func (d *deviceFlags) forPlan(ctx context.Context, p *plan, path string, log *slog.Logger) (pool *device.Pool, fit int,
	err error) {
	r := p.submission.Requirement("")
	if r.Need == nil && !r.MayUseGPUs() {
		return nil, 0, nil
	}
	pool, err = d.find(ctx, log)
	if wrong := (*exitError)(nil); err != nil && (r.Need.Holds() || errors.As(err, &wrong)) {
		return nil, 0, err
	}
	if err != nil {
		log.Warn("trials get no GPU of their own", "reason", err)
		return nil, 0, nil
	}
	offer := sweep.Offer{Devices: pool.Offers()}
	if !r.Need.Holds() {
		return pool, 0, nil
	}
	fits := offer.Fits(r.Need)
	if fits == 0 {
		return nil, 0, usageError("%s: requires: a trial needs %s, and this machine has %s", path, r.Need,
			offer.DevicesText())
	}
	const most = 1024
	return pool, int(min(fits, most)), nil
}
