package system

import (
	"sweep/model/layer"
	"sweep/sweep"
)

var resnet = System{
	Name:        "resnet",
	Doc:         "feed-forward network with residual blocks of two layers, h ← φ(h + W'' φ(W' h + b') + b'')",
	Source:      "He et al. 2016; Zhang, Lei and Dhillon 2018, §7 and §7.2",
	FeedForward: true,
	Parameters:  []*sweep.ParameterSchema{&activation, &slope, &start},
	Defaults:    map[string]any{"input_size": int64(-1), "layers": int64(31)},
	Starts:      []string{"identity", "orthogonal"},
	check:       checkBlocks,
	layers:      func(o *Options) []layer.Spec { return residual(o, dense) },
}
