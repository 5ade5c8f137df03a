package task

import "slices"

// parts are the rows of a data set that a trial uses.
type parts struct {
	options *Options
	rows    [3][]int // of each part
}

func (p *parts) Schedule() Schedule {
	steps, epochs := epochSteps(len(p.rows[Train]), p.options.Batch), p.options.Integer("epochs")
	return Schedule{
		Steps: epochs * steps, Interval: steps, Epochs: true, Refit: p.options.Protocol.Refit(epochs) * steps,
		Average: p.options.Protocol.Average(epochs),
	}
}

func (p *parts) Count(part Part) int { return len(p.rows[part]) }

func (p *parts) Batch(part Part, wanted int) int {
	rows := len(p.rows[part])
	if part == Train && p.Schedule().Refit > 0 {
		rows += len(p.rows[Validation])
	}
	return min(wanted, rows)
}

// minibatches returns the rows of a part's minibatches of so many, as far as there are so many.
func (p *parts) minibatches(part Part, wanted int) minibatches {
	m := minibatches{rows: p.rows[part], size: max(p.Batch(part, wanted), 1)}
	if part == Train {
		m.order = newOrder(p.rows[Train], m.size, p.options.Seed)
		if plan := p.Schedule(); plan.Refit > 0 {
			m.order.refitAfter(plan.Steps-plan.Refit, slices.Concat(p.rows[Train], p.rows[Validation]))
		}
	}
	return m
}

// minibatches are the rows of the minibatches of a part, by position.
type minibatches struct {
	cursor
	order *order // of the training rows; nil where rows come once, one after the other
	rows  []int
	size  int
}

// next returns the rows of the next minibatch, valid until the next call; none at the end.
func (m *minibatches) next() []int {
	position := m.position
	if m.order == nil {
		first := min(position*m.size, len(m.rows))
		rows := m.rows[first:min(first+m.size, len(m.rows))]
		if len(rows) > 0 {
			m.position++
		}
		return rows
	}
	m.position++
	return m.order.minibatch(position)
}
