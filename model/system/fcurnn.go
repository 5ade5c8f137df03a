package system

import (
	"sweep/model/layer"
	"sweep/model/weight"
	"sweep/sweep"
)

var fcURNN = System{
	Name: "fc-urnn",
	Doc: "urnn whose W is any unitary matrix, which moves by Cayley steps; its n² degrees of freedom count as " +
		"weights",
	Source:     "Wisdom et al. 2016, eq. 5 and 6; Zhang, Lei and Dhillon 2018, table 2",
	Parameters: []*sweep.ParameterSchema{&factorRate},
	width:      complexWidth,
	layers: func(o *Options) []layer.Spec {
		return complexCell(o, weight.FullUnitarySpec{Rate: o.Number(factorRate.Name)})
	},
}
