package trainer

// Memory implements sweep.Process.
func (p *process) Memory() (now, peak int64) { return p.command.memory() }

// memory returns the bytes that the process and what it started hold now, and
// that the process has used at most, as far as that is known.
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
