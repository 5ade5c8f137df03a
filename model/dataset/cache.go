package dataset

import "slices"

// Cache keeps the sets that were opened last, up to a number of bytes, so that a trainer process reads a file once and
// not once a trial. A set whose files have changed since is read again. A Cache is for one goroutine at a time; the sets
// that it returns may be shared.
type Cache struct {
	limit   int64
	entries []cacheEntry // the one used last at the end
}

type cacheEntry struct {
	root      string
	reference Reference
	set       *Set
}

// NewCache returns a cache for about so many bytes of data. The set used last stays in it, however large it is.
func NewCache(limit int64) *Cache { return &Cache{limit: limit} }

// Open is [Open] with the cache before it.
func (c *Cache) Open(root string, reference Reference) (*Set, error) {
	reference = reference.normal()
	i := slices.IndexFunc(c.entries, func(e cacheEntry) bool { return e.root == root && e.reference == reference })
	if i >= 0 {
		entry := c.entries[i]
		c.entries = slices.Delete(c.entries, i, i+1)
		if entry.set.current() {
			c.entries = append(c.entries, entry)
			return entry.set, nil
		}
	}
	set, err := Open(root, reference)
	if err != nil {
		return nil, err
	}
	c.entries = append(c.entries, cacheEntry{root, reference, set})
	size := int64(0)
	for i := len(c.entries) - 1; i >= 0; i-- {
		size += c.entries[i].set.Size()
		if size > c.limit && i < len(c.entries)-1 {
			c.entries = slices.Delete(c.entries, 0, i+1)
			break
		}
	}
	return set, nil
}

// current tells whether the files that the set came from are as they were.
func (s *Set) current() bool {
	for _, source := range s.sources {
		if !source.current() {
			return false
		}
	}
	return true
}
