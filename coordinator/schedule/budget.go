package schedule

import (
	"fmt"

	"sweep/sweep"
)

// free is how many further trials of a sweep its budget allows, -1 if there is no bound.
func (sw *sweepState) free() int64 {
	if sw.Budget == nil {
		return -1
	}
	return sw.Budget.Free()
}

// count returns how many trials of a sweep are left, unwritten ones included, and how many are queued or running.
func (sw *sweepState) count() (left, active int64) {
	left = sw.Unwritten
	for i := range sw.Classes {
		left += sw.Classes[i].Pending
		active += sw.Classes[i].Queued + sw.Classes[i].Running
	}
	return left, active
}

// overBudget says why a sweep gets no further places, "" if its budget allows some or nothing is left.
func (sw *sweepState) overBudget() string {
	left, active := sw.count()
	if sw.free() != 0 || left == 0 {
		return ""
	}
	are := "are"
	if left == 1 {
		are = "is"
	}
	rest := fmt.Sprintf("%s %s left", sweep.CountText(left, "trial"), are)
	if !sw.Budget.Spent() {
		return fmt.Sprintf("%s%v is given to trials that run: %s", sweep.BudgetReason, sw.Budget.Budget, rest)
	}
	text := fmt.Sprintf("%s%v is used up: %s", sweep.BudgetReason, sw.Budget.Budget, rest)
	if active > 0 {
		return text
	}
	return text + fmt.Sprintf(` ("sweep budget %s" raises it)`, sw.Sweep)
}

// exhaust pauses the sweeps whose budget is used up, once none of their trials is queued or running.
func (s *State) exhaust() (found bool) {
	for _, sw := range s.ordered("") {
		if _, active := sw.count(); active == 0 && sw.Budget != nil && sw.Budget.Spent() {
			if reason := sw.overBudget(); reason != "" {
				s.do(Exhaust{sw.Sweep, reason})
				found = true
			}
		}
	}
	return found
}

// sharers adds to the sweeps that are to be read those that share a budget with one of them: it is read for all at the
// same time.
func (s *State) sharers(touched map[string]bool) {
	budgets := map[int64]bool{}
	for id := range touched {
		if sw := s.sweeps[id]; sw != nil && sw.Budget != nil {
			budgets[sw.Budget.Number] = true
		}
	}
	for id, sw := range s.sweeps {
		if sw.Budget != nil && budgets[sw.Budget.Number] {
			touched[id] = true
		}
	}
}

// allowances are how many further trials the budgets of sweeps allow, by number.
type allowances map[int64]int64

// of returns how many further trials of a sweep may be queued, -1 if there is no bound.
func (a allowances) of(sw *sweepState) int64 {
	free := sw.free()
	if free < 0 {
		return free
	}
	if known, ok := a[sw.Budget.Number]; ok {
		free = min(free, known)
	}
	a[sw.Budget.Number] = free
	return free
}

// take takes a place of a sweep.
func (a allowances) take(sw *sweepState) {
	if a.of(sw) > 0 {
		a[sw.Budget.Number]--
	}
}
