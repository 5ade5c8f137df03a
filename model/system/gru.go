package system

import "sweep/model/layer"

var gru = System{
	Name:     "gru",
	Doc:      "gated recurrent unit whose reset gate acts on the state before its product",
	Source:   "Cho et al. 2014",
	Defaults: map[string]any{"epochs": int64(500)},
	layers: func(o *Options) []layer.Spec {
		return o.recurrent(nil, layer.GRUOptions{CellOptions: o.cell(), Size: o.Hidden})
	},
}
