package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// Offer is what a worker can run. Workers of equal Key share one queue of jobs.
type Offer struct {
	Pool     string         `json:"pool"`
	Trainers []TrainerOffer `json:"trainers,omitempty"`
	Slots    int            `json:"slots"`
	// Memory is what a trial may use, in bytes; 0 means unknown.
	Memory int64             `json:"memory,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Devices are the GPUs and other countable devices of its machine that its trials may hold.
	Devices []DeviceOffer `json:"devices,omitempty"`
	// Datasets are the digests of the data sets that the worker has read, by
	// Description.DatasetKey.
	Datasets map[string]string `json:"datasets,omitempty"`
	// OtherData are the digests of data sets that jobs needed and that the worker lacks: it has
	// other data, or none.
	OtherData []string `json:"other_data,omitempty"`
	// NoArtifacts says why the worker takes no trials that leave artifacts; empty if it does.
	NoArtifacts string `json:"no_artifacts,omitempty"`
}

// TrainerOffer is a trainer that a worker has. One with a Problem is not offered.
type TrainerOffer struct {
	Name          string `json:"name"`
	Version       string `json:"version,omitempty"`
	ResultVersion string `json:"result_version,omitempty"`
	// Schema is the digest of the trainer's description.
	Schema string `json:"schema,omitempty"`
	// KernelLevel is the level of its kernels on this machine.
	KernelLevel string `json:"kernel_level,omitempty"`
	// Problem says why it does not start here.
	Problem string `json:"problem,omitempty"`
}

// Requirement is what a job needs of an offer. Trials with equal requirements form a class.
type Requirement struct {
	Trainer       string `json:"trainer"`
	ResultVersion string `json:"result_version,omitempty"`
	// Dataset is the key of the data set, DatasetDigest the digest that the submitter saw; empty
	// if nothing is required.
	Dataset       string `json:"dataset,omitempty"`
	DatasetDigest string `json:"dataset_digest,omitempty"`
	// Program is the program of a script; its digest is DatasetDigest.
	Program string `json:"program,omitempty"`
	// Memory is what the trial uses by its trainer's estimate, in bytes.
	Memory int64 `json:"memory,omitempty"`
	// Artifacts says that the trial leaves artifacts.
	Artifacts bool `json:"artifacts,omitempty"`
	// Labels are those that the worker must have.
	Labels map[string]string `json:"labels,omitempty"`
	// Need is what the trial holds of the worker's devices; nil if the sweep file does not say.
	Need *Need `json:"need,omitempty"`
}

// MayUseGPUs reports whether nothing is known of the trial's use of GPUs: the sweep file does not say, and the trainer is
// none of those that are built in, which use none.
func (r *Requirement) MayUseGPUs() bool {
	return r.Need == nil && r.Trainer != DefaultTrainer && r.Trainer != noopTrainer
}

// noopTrainer is the trainer that trains nothing.
const noopTrainer = "noop"

// SchemaDigest is the hexadecimal SHA-256 of a description's parameters and metrics.
func (d *Description) SchemaDigest() string {
	data, err := json.Marshal([]any{d.Parameters, d.Metrics})
	if err != nil {
		return "" // a schema that cannot be sent either
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// RoundMemory rounds a size down to four significant bits, so that similar hosts offer the same.
func RoundMemory(size int64) int64 {
	if size <= 0 {
		return 0
	}
	drop := max(bits.Len64(uint64(size))-4, 0)
	return size >> drop << drop
}

// Key is a short digest of all that decides which requirements the offer meets.
func (o *Offer) Key() string {
	trainers := make([]string, 0, len(o.Trainers))
	for _, t := range o.Trainers {
		if t.Problem == "" {
			trainers = append(trainers, fmt.Sprintf("%q %q", t.Name, t.ResultVersion))
		}
	}
	slices.Sort(trainers)
	labels := make([]string, 0, len(o.Labels))
	for _, name := range slices.Sorted(maps.Keys(o.Labels)) {
		labels = append(labels, fmt.Sprintf("%q %q", name, o.Labels[name]))
	}
	data := slices.Sorted(slices.Values(o.OtherData))
	text := fmt.Appendf(nil, "%q\n%q\n%d\n%q\n%q", o.Pool, trainers, o.Memory, labels, data)
	if o.NoArtifacts != "" {
		text = append(text, "\nno artifacts"...)
	}
	for _, d := range o.Devices {
		text = fmt.Appendf(text, "\n%q", d)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// trainer returns the offer of a trainer, nil if there is none.
func (o *Offer) trainer(name string) *TrainerOffer {
	for i := range o.Trainers {
		if o.Trainers[i].Name == name {
			return &o.Trainers[i]
		}
	}
	return nil
}

// lack is a part of a requirement that is not met, in the order in which people look for it.
type lack int

const (
	lacksNothing lack = iota
	lacksTrainer
	lacksVersion
	lacksLabel
	lacksMemory
	lacksDevices
	lacksData
	lacksSpool
)

// Meets reports whether the worker can run what needs r.
func (o *Offer) Meets(r *Requirement) bool { return o.lack(r) == lacksNothing }

func (o *Offer) lack(r *Requirement) lack {
	t := o.trainer(r.Trainer)
	switch {
	case t == nil || t.Problem != "":
		return lacksTrainer
	case r.ResultVersion != "" && t.ResultVersion != r.ResultVersion:
		return lacksVersion
	}
	for name, value := range r.Labels {
		if o.Labels[name] != value {
			return lacksLabel
		}
	}
	switch {
	case o.Memory > 0 && r.Memory > o.Memory:
		return lacksMemory
	case r.Need != nil && o.Fits(r.Need) == 0:
		return lacksDevices
	case r.DatasetDigest != "" && slices.Contains(o.OtherData, r.DatasetDigest):
		return lacksData
	case r.Artifacts && o.NoArtifacts != "":
		return lacksSpool
	}
	return lacksNothing
}

// Unmet says why none of a pool's offers, one for each live worker, meets a requirement: what is
// missing at the nearest ones. It returns "" if one does.
func (r *Requirement) Unmet(pool string, offers []Offer) string {
	if len(offers) == 0 {
		return fmt.Sprintf("no worker of pool %s is there: \"sweep worker --pool %s\" starts one", pool, pool)
	}
	var nearest []*Offer
	worst := lacksNothing
	for i := range offers {
		switch l := offers[i].lack(r); {
		case l == lacksNothing:
			return ""
		case l > worst:
			worst, nearest = l, []*Offer{&offers[i]}
		case l == worst:
			nearest = append(nearest, &offers[i])
		}
	}
	have := func(what func(o *Offer) string) string { return census(nearest, "have", what) }
	switch worst {
	case lacksTrainer:
		return fmt.Sprintf("no worker offers trainer %s; %s", r.Trainer, have(func(o *Offer) string {
			if t := o.trainer(r.Trainer); t != nil {
				return "one that does not start: " + t.Problem
			}
			return "none of this name"
		}))
	case lacksVersion:
		return fmt.Sprintf("no worker offers trainer %s with results of version %s; %s", r.Trainer, r.ResultVersion,
			census(nearest, "offer", func(o *Offer) string { return "version " + o.trainer(r.Trainer).ResultVersion }))
	case lacksLabel:
		return fmt.Sprintf("no worker of pool %s has the labels %s; %s", pool, labelText(r.Labels, r.Labels),
			have(func(o *Offer) string { return labelText(r.Labels, o.Labels) }))
	case lacksMemory:
		return fmt.Sprintf("a trial needs %s of memory; %s", SizeText(r.Memory),
			have(func(o *Offer) string { return SizeText(o.Memory) + " a slot" }))
	case lacksDevices:
		return fmt.Sprintf("a trial needs %s on one machine; %s", r.Need, have((*Offer).DevicesText))
	case lacksSpool:
		return "no worker takes trials that leave artifacts; " + have(func(o *Offer) string { return o.NoArtifacts })
	default:
		if r.Program != "" {
			return fmt.Sprintf("no worker has the program %s as it was submitted: it, or a file that belongs to it, "+
				"has changed or is missing on %s; put it back, or run the sweep file again, with the program as it is "+
				"now", r.Program, CountText(len(nearest), "worker"))
		}
		return fmt.Sprintf("no worker has data set %s as it was submitted, with digest %.12s; %s",
			datasetText(r.Dataset), r.DatasetDigest, have(func(o *Offer) string {
				if digest := o.Datasets[r.Dataset]; digest != "" {
					return fmt.Sprintf("it with digest %.12s", digest)
				}
				return "none that can be read"
			}))
	}
}

// datasetText writes the key of a data set, its parameters, for people.
func datasetText(key string) string {
	var p Parameters
	if p.UnmarshalJSON([]byte(key)) != nil {
		return key
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		parts = append(parts, fmt.Sprint(name, "=", p[name]))
	}
	return strings.Join(parts, " ")
}

// census counts workers by what they have, the most frequent first: "3 workers
// offer version 4, 1 worker offers version 3".
func census(offers []*Offer, verb string, what func(o *Offer) string) string {
	counts := map[string]int{}
	for _, o := range offers {
		counts[what(o)]++
	}
	things := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	const most = 4
	var parts []string
	for i, thing := range things {
		switch n := counts[thing]; {
		case i == most:
			return strings.Join(append(parts, "…"), ", ")
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d workers %s %s", n, verb, thing))
		case verb == "have":
			parts = append(parts, "1 worker has "+thing)
		default:
			parts = append(parts, fmt.Sprintf("1 worker %ss %s", verb, thing))
		}
	}
	return strings.Join(parts, ", ")
}

// labelText writes the values that labels have under the wanted names.
func labelText(wanted, labels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if value, ok := labels[name]; ok {
			parts = append(parts, name+"="+value)
		} else {
			parts = append(parts, "no "+name)
		}
	}
	return strings.Join(parts, " ")
}
