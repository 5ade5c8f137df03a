package dataset

import "slices"

// Cache keeps the data that were opened last, up to a number of bytes, so that a trainer process reads a file once and
// not once a trial. Data whose files have changed since are read again. A Cache is for one goroutine at a time; what it
// returns may be shared.
type Cache struct {
	limit   int64
	entries []cacheEntry // the one used last at the end
}

// cached is data in a cache: a [Set] or a [Text].
type cached interface {
	Size() int64
	// current tells whether the files that the data came from are as they were.
	current() bool
}

type cacheEntry struct {
	root      string
	reference Reference
	data      cached
}

// NewCache returns a cache for about so many bytes of data. What was used last stays in it, however large it is.
func NewCache(limit int64) *Cache { return &Cache{limit: limit} }

// Open is [Open] with the cache before it.
func (c *Cache) Open(root string, reference Reference) (*Set, error) {
	reference = reference.normal()
	if set, ok := c.find(root, reference).(*Set); ok {
		return set, nil
	}
	set, err := Open(root, reference)
	if err != nil {
		return nil, err
	}
	c.keep(root, reference, set)
	return set, nil
}

// OpenText is [OpenText] with the cache before it.
func (c *Cache) OpenText(root, name string) (*Text, error) {
	reference := Reference{Name: name}
	if text, ok := c.find(root, reference).(*Text); ok {
		return text, nil
	}
	text, err := OpenText(root, name)
	if err != nil {
		return nil, err
	}
	c.keep(root, reference, text)
	return text, nil
}

// find returns the data of a reference if they are there and as their files are; nil otherwise.
func (c *Cache) find(root string, reference Reference) cached {
	i := slices.IndexFunc(c.entries, func(e cacheEntry) bool { return e.root == root && e.reference == reference })
	if i < 0 {
		return nil
	}
	entry := c.entries[i]
	c.entries = slices.Delete(c.entries, i, i+1)
	if !entry.data.current() {
		return nil
	}
	c.entries = append(c.entries, entry)
	return entry.data
}

// keep puts data in, in the place of those that were not used for longest.
func (c *Cache) keep(root string, reference Reference, data cached) {
	c.entries = append(c.entries, cacheEntry{root, reference, data})
	size := int64(0)
	for i := len(c.entries) - 1; i >= 0; i-- {
		size += c.entries[i].data.Size()
		if size > c.limit && i < len(c.entries)-1 {
			c.entries = slices.Delete(c.entries, 0, i+1)
			break
		}
	}
}

func (s *Set) current() bool { return current(s.sources) }

func (t *Text) current() bool { return current(t.sources) }

// current tells whether files are as they were.
func current(sources []source) bool {
	for _, source := range sources {
		if !source.current() {
			return false
		}
	}
	return true
}
