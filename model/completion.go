package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
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

// Completer completes prefixes of queries by the weights of a trial of the task queries. It is for
// one goroutine at a time.
type Completer struct {
	net      *network.Network[float32]
	alphabet []rune
	codes    map[rune]int
	longest  int // characters of a query
	beam     int
	state    layer.State[float32] // of the beam, copied from the network
	logs     []float64
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
	room := network.Room{Batch: beam, History: t.history, Threads: t.threads, Rows: beam}
	c.net, err = network.Load(t.kernels, s.spec(task.CharacterShape(1, codes)), room, file)
	return c, err
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
		return nil, fmt.Errorf("prefix %q is not UTF-8", prefix)
	case len(read) > c.longest:
		return nil, fmt.Errorf("prefix %q has %d characters: the model was trained on at most %d (length)", prefix,
			len(read), c.longest)
	}
	outputs, state := c.net.Step([]int{task.EndOfQuery}, nil)
	for _, r := range read {
		code, ok := c.codes[r]
		if !ok {
			code = task.RareCharacter
		}
		outputs, state = c.net.Step([]int{code}, state)
	}
	live, done := []hypothesis{{text: read}}, []Completion(nil)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var next []hypothesis
		for row, h := range live {
			c.logs = logSoftmax(c.logs[:0], outputs.Row(row))
			done = insert(done, Completion{string(h.text), math.Exp(h.log + c.logs[task.EndOfQuery])}, most,
				func(a, b Completion) int { return cmp.Compare(b.Probability, a.Probability) })
			if len(h.text) == c.longest {
				continue
			}
			for code := task.FirstCharacter; code < task.FirstCharacter+len(c.alphabet); code++ {
				longer := hypothesis{text: h.text, log: h.log + c.logs[code], parent: row, code: code}
				next = insert(next, longer, c.beam, func(a, b hypothesis) int { return cmp.Compare(b.log, a.log) })
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
	if len(list) == most && compare(value, list[most-1]) >= 0 {
		return list
	}
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
