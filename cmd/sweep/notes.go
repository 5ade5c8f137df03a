package main

import (
	"fmt"
	"strings"

	"sweep/sweep"
)

const (
	// noteLines is how many lines of a failed trial's log a note has at most.
	noteLines = 20
	// noteRanges is how many ranges of trials a note lists at most.
	noteRanges = 8
	// maxReasons is how many reasons the end of a run names at most.
	maxReasons = 3
)

// trialNote is what there is to say of trials besides their values, once for all of which it is true.
type trialNote struct {
	did, reason string
	// first is the trial whose log stands for those of the others.
	first   *sweep.TrialRecord
	indices []int64
}

// trialNotes gathers why trials failed, why workers refused those that have not ended, and what is unusual
// about results, in the order of the trials.
func trialNotes(trials []*sweep.TrialRecord) (notes []*trialNote) {
	known := map[[2]string]*trialNote{}
	for _, t := range trials {
		var did, reason string
		switch {
		case t.State == sweep.Failed && t.Result != nil:
			did, reason = "failed", t.Result.Error
		case t.State == sweep.Stopped, t.State == sweep.Skipped: // each has its own reason
			continue
		case t.Result != nil && t.Result.Error != "":
			reason = t.Result.Error
		case t.Refusals > 0 && !t.State.Terminal():
			did, reason = "refused", refusal(t)
		default:
			continue
		}
		key := [2]string{did, reason}
		if known[key] == nil {
			known[key] = &trialNote{did: did, reason: reason, first: t}
			notes = append(notes, known[key])
		}
		known[key].indices = append(known[key].indices, t.Index)
	}
	return notes
}

// String writes the note, and of failed trials the end of the first one's log.
func (n *trialNote) String() string {
	count := len(n.indices)
	who := fmt.Sprintf("trial %d", n.first.Index)
	if count > 1 {
		who = fmt.Sprintf("%d trials (%s)", count, rangesText(n.indices))
	}
	switch {
	case n.did == "failed":
		return fmt.Sprintf("\n%s failed: %s\n%s", who, n.reason, n.log())
	case n.did == "refused" && count == 1:
		return fmt.Sprintf("\n%s was %s\n", who, n.reason)
	case n.did == "refused":
		return fmt.Sprintf("\n%s were %s\n", who, n.reason)
	default:
		return fmt.Sprintf("\n%s: %s\n", who, n.reason)
	}
}

func (n *trialNote) log() string {
	text := indent(n.first.Result.Stderr)
	if text == "" {
		return ""
	}
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1] // what follows the last line break
	title := ""
	switch cut := len(lines) > noteLines; {
	case cut:
		lines = lines[len(lines)-noteLines:]
		title = fmt.Sprintf("  the end of its log (all: sweep logs %s %d)\n", n.first.Sweep, n.first.Index)
		if len(n.indices) > 1 {
			title = fmt.Sprintf("  the end of the log of trial %d (all: sweep logs %s %[1]d)\n", n.first.Index,
				n.first.Sweep)
		}
	case len(n.indices) > 1:
		title = fmt.Sprintf("  the log of trial %d\n", n.first.Index)
	}
	return title + strings.Join(lines, "")
}

// rangesText lists numbers as "0-7, 9", the first ranges of many.
func rangesText(numbers []int64) string {
	var ranges []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		if len(ranges) == noteRanges {
			return strings.Join(ranges, ", ") + " …"
		}
		text := fmt.Sprint(numbers[i])
		if last > i {
			text += fmt.Sprintf("-%d", numbers[last])
		}
		ranges, i = append(ranges, text), last+1
	}
	return strings.Join(ranges, ", ")
}
