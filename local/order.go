package local

// order goes through the pending trials of a sweep in the order in which they run before a deadline: at first those
// that end in time by their estimates, then the others, whose checkpoints the deadline leaves; of both the first
// replicate of every point, then the second one, and so on, in the order of index. It has no clock, and keeps its
// place alone.
type order struct {
	// late means that nothing that ends in time was left.
	late bool
	// The trials of one replicate are gone through by index, those before from are behind. later is the smallest
	// of the later replicates that were seen meanwhile, 0 if none was.
	replicate int
	from      int64
	later     int
}

// candidate is a pending trial.
type candidate struct {
	index     int64
	class     int
	replicate int
	// seconds returns how long it takes, 0 if that is not known: then it may end in time.
	seconds func() float64
}

// next returns up to n trials, without those that were chosen before and are pending still. pending returns a page of
// trials from an index on, none after the last one. left is the time until the deadline in seconds.
func (o *order) next(n int, left float64, chosen []candidate,
	pending func(from int64) ([]candidate, error)) (found []candidate, err error) {
	known := map[int64]bool{}
	for _, c := range chosen {
		known[c.index] = true
	}
	for whole := false; len(found) < n; {
		page, err := pending(o.from)
		if err != nil {
			return nil, err
		}
		for _, c := range page {
			o.from = c.index + 1
			switch {
			case known[c.index]:
			case c.replicate != o.replicate:
				if c.replicate > o.replicate && (o.later == 0 || c.replicate < o.later) {
					o.later = c.replicate
				}
			case o.late || c.seconds() <= left:
				known[c.index] = true
				if found = append(found, c); len(found) == n {
					return found, nil
				}
			}
		}
		switch {
		case len(page) > 0:
			continue
		case o.later > 0:
			*o = order{late: o.late, replicate: o.later}
		case o.late && whole:
			*o = order{}
			return found, nil // all were looked at
		default:
			*o = order{late: !o.late}
			whole = o.late
		}
	}
	return found, nil
}
