package dataset

import "slices"

// Cache keeps the data that were opened last, up to a number of bytes, so that a trainer process reads a file once and
// not once a trial. Data whose files have changed since are read again. A Cache is for one goroutine at a time; what it
// returns may be shared.
type Cache struct {
	limit   int64
	entries []cacheEntry // the one used last at the end
}

// OpenMultiLabel is [OpenMultiLabel] with the cache before it.
func (c *Cache) OpenMultiLabel(root, name string, base int) (*MultiLabelSet, error) {
	return open(c, root, Reference{Name: name, IndexBase: base}, func() (*MultiLabelSet, error) {
		return OpenMultiLabel(root, name, base)
	})
}

// cached is data in a cache: a [Set], a [Text], a [QuerySet] or a [MultiLabelSet].
type cached interface {
	Size() int64
	// current reports whether the files that the data came from are as they were.
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
	return open(c, root, reference, func() (*Set, error) { return Open(root, reference) })
}

// OpenText is [OpenText] with the cache before it.
func (c *Cache) OpenText(root, name string) (*Text, error) {
	return open(c, root, Reference{Name: name}, func() (*Text, error) { return OpenText(root, name) })
}

// OpenQueries is [OpenQueries] with the cache before it.
func (c *Cache) OpenQueries(root, name string) (*QuerySet, error) {
	return open(c, root, Reference{Name: name}, func() (*QuerySet, error) { return OpenQueries(root, name) })
}

func open[D cached](c *Cache, root string, reference Reference, load func() (D, error)) (D, error) {
	if data, ok := c.find(root, reference).(D); ok {
		return data, nil
	}
	data, err := load()
	if err == nil {
		c.add(root, reference, data)
	}
	return data, err
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

// add puts data in, in the place of those that were not used for longest.
func (c *Cache) add(root string, reference Reference, data cached) {
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
