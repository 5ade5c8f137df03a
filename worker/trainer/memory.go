package trainer

import "time"

// Memory implements sweep.Process.
func (p *process) Memory() (now, peak int64) { return p.command.memory() }

// memory returns the memory of the process and its descendants now, and the largest known
// memory of the process, in bytes.
func (c *command) memory() (now, peak int64) {
	c.mu.Lock()
	running, pid := c.process != nil, c.pid
	c.mu.Unlock()
	if running {
		now = residentMemory(pid)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peak = max(c.peak, now)
	if c.ended && c.state != nil {
		c.peak = max(c.peak, peakMemory(c.state))
	}
	return now, c.peak
}

// Processor implements sweep.Process.
func (p *process) Processor() time.Duration {
	p.command.mu.Lock()
	running, pid := p.command.process != nil, p.command.pid
	p.command.mu.Unlock()
	if !running {
		return 0
	}
	return processorTime(pid)
}
