package protocol

import "sweep/sweep"

// OpenEnded is the parameter that says whether a trial can be trained longer.
const OpenEnded = "open_ended"

// Parameters returns the schemas of epoch_rule, refit and average.
func Parameters() []sweep.ParameterSchema {
	rules := make([]any, len(Rules))
	for i, r := range Rules {
		rules[i] = string(r)
	}
	byValidation := sweep.Match{"epoch_rule": {string(LastSmallestError), string(FirstSmallestError),
		string(SmallestLoss)}}
	final := sweep.Match{"task": {"classification"}, "epoch_rule": {string(Final)}}
	return []sweep.ParameterSchema{
		{Name: "epoch_rule", Measures: true, Type: sweep.StringType, Default: string(Final),
			Enum: rules,
			Doc: "the epoch, or validation, whose weights are kept and tested: the last or first at which " +
				"the validation error is smallest, the one with the smallest validation loss, or the final one"},
		{Name: "patience", Measures: true, AppliesWhen: byValidation, Type: sweep.IntegerType, Default: int64(0),
			Neutral: int64(0), Minimum: new(0.0), Maximum: new(1e9), Endless: []any{int64(0)},
			Doc: "epochs, or validations, without better weights by epoch_rule after which training ends; 0 trains " +
				"to the end"},
		// docs/measurements.md has what refit and average gain.
		{Name: "refit", Measures: true, AppliesWhen: final,
			Type: sweep.NumberType, Default: 0.2, Neutral: int64(0), Minimum: new(0.0), Maximum: new(0.9),
			Endless:  []any{int64(0)},
			Defaults: []sweep.ConditionalDefault{{When: sweep.Match{OpenEnded: {true}}, Value: int64(0)}},
			Doc: "share of the epochs, the last, that train on the series held out for validation, too: " +
				"nothing is validated there, and the final weights are tested"},
		{Name: "average", Measures: true, AppliesWhen: final, Type: sweep.NumberType, Default: 0.1, Neutral: int64(0),
			Minimum: new(0.0), Maximum: new(0.9),
			Defaults: []sweep.ConditionalDefault{{When: sweep.Match{"refit": {int64(0)}}, Value: int64(0)}},
			Doc: "share of the epochs, the last ones of the refit, the mean of whose final weights is " +
				"tested; 0 tests those of the last epoch alone"},
	}
}
