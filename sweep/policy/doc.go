// Package policy has the ways in which a sweep chooses its trials and stops them early: a file a kind, and the
// registry, Kinds, from which sweep files, their schema and documentation have what they know of them. A policy is a
// pure function of the trials so far: it has no clock and no state, does not depend on the order in which trials ended,
// and draws random numbers by the index of the point. Only hyperband, which is W&B's, compares trials while they run:
// which it stops depends on when their values arrive, and the same observations lead to the same decisions. Of all
// others the same results lead to the same points, on any number of workers, with whatever interruptions between, and
// with the same bits on every machine.
//
//	grid, policies, err := policy.Open(&submission)
//	step, err := policies[0].Step(ctx, policy.Observations{Trials: trials, Written: written}) // the next generation
package policy
