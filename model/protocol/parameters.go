package protocol

import "sweep/sweep"

// Parameters returns the schemas of epoch_rule, refit and average.
func Parameters() []sweep.ParameterSchema {
	rules := make([]any, len(Rules))
	for i, r := range Rules {
		rules[i] = string(r)
	}
	final := sweep.Match{"task": {"classification"}, "epoch_rule": {string(Final)}}
	return []sweep.ParameterSchema{
		{Name: "epoch_rule", Measures: true, Type: sweep.StringType, Default: string(Final),
			Enum: rules,
			Doc: "the epoch, or validation, whose weights are kept and tested: the last or first at which " +
				"the validation error is smallest, the one with the smallest validation loss, or the final one"},
		// Where series are few, those held out are missed. On a quarter of the training
		// series that neither trained nor chose, over the points of examples/ucr-wide.yaml,
		// the mean of 11 or 12 UCR sets is better by .0158 ± .0059 of accuracy for
		// spectral-rnn and .0139 ± .0053 for ornn than final weights without it, and by
		// .0135 ± .0093 for rnn and .0235 ± .0099 for lstm than the weights of the last
		// smallest error.
		{Name: "refit", Measures: true, AppliesWhen: final,
			Type: sweep.NumberType, Default: 0.2, Neutral: int64(0), Minimum: new(0.0), Maximum: new(0.9),
			Doc: "share of the epochs, the last, that train on the series held out for validation, too: " +
				"nothing is validated there, and the final weights are tested"},
		// On series held out like that, five replicates, the mean is better than the last
		// weights by .0075 ± .0067 of accuracy for rnn and .0342 ± .0175 for lstm (12 small
		// sets), .0125 ± .0063 for ornn and .0168 ± .0063 for spectral-rnn (16 sets, large
		// ones among them) at the points that validation chooses. With a twentieth or a fifth
		// of the epochs it is as good.
		{Name: "average", Measures: true, AppliesWhen: final, Type: sweep.NumberType, Default: 0.1, Neutral: int64(0),
			Minimum: new(0.0), Maximum: new(0.9),
			Defaults: []sweep.ConditionalDefault{{When: sweep.Match{"refit": {int64(0)}}, Value: int64(0)}},
			Doc: "share of the epochs, the last ones of the refit, the mean of whose final weights is " +
				"tested; 0 tests those of the last epoch alone"},
	}
}
