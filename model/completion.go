package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"unicode/utf8"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/network"
	"sweep/model/task"
	"sweep/sweep"
)

// alphabetKey is the key, in an artifact's metadata, of the characters that have codes of their own.
const alphabetKey = "alphabet"

// maxThreads is how many threads share the work on a beam: more would wait for memory, and each other.
const maxThreads = 8

// Completer completes prefixes of queries by the weights of a trial of the task queries. It is for
// one goroutine at a time.
type Completer struct {
	net      *network.Network[float32]
	alphabet []rune
	codes    map[rune]int
	longest  int // characters of a query
	beam     int
	logs     []float64            // of a text's next characters
	state    layer.State[float32] // of the beam, copied from the network
	// read is the last prefix, and after what the network made of its beginnings, from the empty one on.
	read  []rune
	after []reading
}

// reading is what a text leaves behind: the outputs, a row, and the state.
type reading struct {
	outputs kernel.Matrix[float32]
	state   layer.State[float32]
}

// Completion is a query that a prefix is completed to.
type Completion struct {
	Query string `json:"query"`
	// Probability is P(prefix → query), the product of the probabilities of the characters that
	// follow the prefix, and of the query's end.
	Probability float64 `json:"probability"`
}

// LoadCompleter makes the network of a [WeightsArtifact] of the task queries, to follow so many
// prefixes at a time. It needs no data, and has to be closed.
func (t *Trainer) LoadCompleter(artifact []byte, beam int) (*Completer, error) {
	file, parameters, err := decodeWeights(artifact)
	if err != nil {
		return nil, err
	}
	s, err := settingsOf(parameters)
	if err != nil {
		return nil, err
	}
	characters, ok := file.Metadata[alphabetKey]
	if !ok {
		return nil, fmt.Errorf("the weights are of the task %v: completion needs a trial of the task queries",
			s.parameters["task"])
	}
	c := &Completer{alphabet: []rune(characters), codes: map[rune]int{}, beam: beam}
	for i, r := range c.alphabet {
		c.codes[r] = task.FirstCharacter + i
	}
	r := sweep.ParameterReader{Parameters: s.parameters}
	codes := r.Integer("alphabet")
	c.longest = r.Integer("length")
	if len(c.alphabet) > codes-task.FirstCharacter {
		return nil, fmt.Errorf("%s: %d characters for an alphabet of %d codes", WeightsArtifact, len(c.alphabet), codes)
	}
	room := network.Room{Batch: beam, History: t.history, Threads: min(runtime.GOMAXPROCS(0), maxThreads), Rows: beam,
		Products: true}
	if c.net, err = network.Load(t.kernels, s.spec(task.CharacterShape(1, codes)), room, file); err != nil {
		return nil, err
	}
	c.follow(nil) // forms the weights: no prefix has to wait for that
	return c, nil
}

// Close ends the network's threads.
func (c *Completer) Close() { c.net.Close() }

// Rare returns the characters of a prefix that have no code of their own. The network reads each as
// any rare character.
func (c *Completer) Rare(prefix string) (rare []rune) {
	for _, r := range prefix {
		if _, ok := c.codes[r]; !ok && !slices.Contains(rare, r) {
			rare = append(rare, r)
		}
	}
	return rare
}

// hypothesis is a text that may go on.
type hypothesis struct {
	text   []rune
	log    float64 // of the probability of what follows the prefix
	parent int     // its row in the step before
	code   int     // of its last character
}

// Complete returns the most probable queries that begin with the prefix, at most so many, the most
// probable first. Of the texts of each length it follows as many as the beam is wide; a query with
// a rare character is not found, since its text is not known.
func (c *Completer) Complete(ctx context.Context, prefix string, most int) ([]Completion, error) {
	read := []rune(prefix)
	switch {
	case !utf8.ValidString(prefix):
		return nil, fmt.Errorf("prefix %q is not UTF-8: convert it, as with iconv", prefix)
	case len(read) > c.longest:
		return nil, fmt.Errorf("prefix %q has %d characters: the model was trained on at most %d (length): shorten "+
			"it, or train with a larger length", prefix, len(read), c.longest)
	}
	outputs, state := c.follow(read)
	live, done := []hypothesis{{text: read}}, []Completion(nil)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var next []hypothesis
		for row, h := range live {
			c.logs = logSoftmax(c.logs[:0], outputs.Row(row))
			if p := math.Exp(h.log + c.logs[task.EndOfQuery]); len(done) < most || p > done[most-1].Probability {
				done = insert(done, Completion{string(h.text), p}, most,
					func(a, b Completion) int { return cmp.Compare(b.Probability, a.Probability) })
			}
			if len(h.text) == c.longest {
				continue
			}
			for code := task.FirstCharacter; code < task.FirstCharacter+len(c.alphabet); code++ {
				log := h.log + c.logs[code]
				if len(next) == c.beam && log <= next[c.beam-1].log {
					continue
				}
				next = insert(next, hypothesis{text: h.text, log: log, parent: row, code: code}, c.beam,
					func(a, b hypothesis) int { return cmp.Compare(b.log, a.log) })
			}
		}
		// A text is no more probable than its beginning.
		if len(done) == most {
			next = slices.DeleteFunc(next, func(h hypothesis) bool {
				return math.Exp(h.log) <= done[most-1].Probability
			})
		}
		if len(next) == 0 {
			return done, nil
		}
		codes := make([]int, len(next))
		for i := range next {
			h := &next[i]
			codes[i] = h.code
			h.text = append(slices.Clone(h.text), c.alphabet[h.code-task.FirstCharacter])
		}
		live = next
		outputs, state = c.net.Step(codes, c.gather(state, live))
	}
}

// follow returns the outputs and the state after a prefix. It begins where the prefix departs from the
// one before.
func (c *Completer) follow(prefix []rune) (kernel.Matrix[float32], layer.State[float32]) {
	if len(c.after) == 0 {
		c.after = append(c.after, retained(c.net.Step([]int{task.EndOfQuery}, nil)))
	}
	known := 0
	for known < min(len(prefix), len(c.read)) && prefix[known] == c.read[known] {
		known++
	}
	c.read, c.after = c.read[:known], c.after[:known+1]
	for _, r := range prefix[known:] {
		code, ok := c.codes[r]
		if !ok {
			code = task.RareCharacter
		}
		c.read = append(c.read, r)
		c.after = append(c.after, retained(c.net.Step([]int{code}, c.after[len(c.after)-1].state)))
	}
	last := c.after[len(prefix)]
	return last.outputs, last.state
}

// retained copies what the network's next step overwrites.
func retained(outputs kernel.Matrix[float32], state layer.State[float32]) (r reading) {
	r.outputs = clone(outputs)
	for _, m := range state {
		r.state = append(r.state, clone(m))
	}
	return r
}

func clone(m kernel.Matrix[float32]) kernel.Matrix[float32] {
	own := kernel.NewMatrix[float32](m.Rows, m.Cols)
	own.Fill(m)
	return own
}

// gather returns the states of the parents of hypotheses.
func (c *Completer) gather(from layer.State[float32], live []hypothesis) layer.State[float32] {
	for i, m := range from {
		if len(c.state) <= i {
			c.state = append(c.state, kernel.NewMatrix[float32](c.beam, m.Cols))
		}
		c.state[i] = kernel.Dense(c.state[i].Data[:len(live)*m.Cols], len(live), m.Cols)
		for row, h := range live {
			copy(c.state[i].Row(row), m.Row(h.parent))
		}
	}
	return c.state
}

// insert puts a value into a sorted list of at most so many.
func insert[T any](list []T, value T, most int, compare func(a, b T) int) []T {
	at, _ := slices.BinarySearchFunc(list, value, compare)
	list = slices.Insert(list, at, value)
	return list[:min(len(list), most)]
}

// logSoftmax appends the logarithms of the softmax of outputs.
func logSoftmax(dst []float64, outputs []float32) []float64 {
	top, sum := float64(slices.Max(outputs)), 0.
	for _, output := range outputs {
		sum += math.Exp(float64(output) - top)
	}
	sum = top + math.Log(sum)
	for _, output := range outputs {
		dst = append(dst, float64(output)-sum)
	}
	return dst
}
