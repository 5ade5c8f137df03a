// Package file decodes sweep files.
//
// A sweep file is one YAML (or JSON) document in the form that Weights & Biases
// users know, with further keys. A file of theirs with method: grid gives the
// same set of points here as there.
//
//	name: ucr
//	trainer: builtin
//	pool: cpu
//	priority: 0
//	replicates: 5
//	parameters:
//	  dataset: {values: [CBF, Coffee]}
//	  model: {values: [rnn, lstm, ornn, spectral-rnn]}
//	  lr: {values: [1e-3, 3e-3, 1e-2]}
//	  decay: {values: [1, 1, 0.99]}
//	  m1: {values: [8, 16], when: {model: [ornn, spectral-rnn]}}
//	  m2: {values: [8, 16]}
//	zip: [[lr, decay]]
//	when: {m2: {model: spectral-rnn}}
//	exclude: [{model: lstm, lr: 1e-3}]
//	select: {group: [dataset, model], by: validation_loss, goal: minimize}
//	limits: {timeout: 10m, attempts: 3, points: 1000}
//	artifacts: [weights]
//
// # Keys
//
//	name         shown in lists and tables; the file's own name if absent
//	description  free text
//	trainer      the program that trains; builtin if absent
//	pool         the kind of worker that the trials need; cpu if absent
//	priority     orders active sweeps, larger first; 0 if absent
//	parameters   what spans the grid, see below; required
//	replicates   k adds the parameter seed with the values 1 to k, which varies fastest
//	zip          lists of parameters that advance together
//	when         parameters that exist only under a condition
//	exclude      points that are left out
//	run_cap      the largest number of points; the first ones are kept
//	select       how trials are compared in tables: group (parameters whose
//	             values compete apart), by (a metric), goal (minimize or maximize)
//	metric       W&B's {name, goal}: stands in for select's by and goal
//	limits       timeout (of one execution, as in 90s, 10m, 1h30m; none if
//	             absent), attempts (executions that may fail by the trial's own
//	             fault; 3), points (kept of a curve; 1000)
//	artifacts    what is kept of a trial besides its result: weights
//	method       grid, or absent
//
// The keys program, command, project, entity, early_terminate, controller, job,
// image_uri, scheduler, apiVersion, kind and metrics of W&B are taken, mean
// nothing, and are named once in a note. Any other key is an error, as is a key
// that is given twice. A key without a value counts as absent.
//
// # Parameters
//
// Each parameter is a mapping with one of
//
//	value: v                  one value
//	values: [v, …]            a list; values may be lists or mappings
//	min: a, max: b            the integers from a to b; one value if a = b
//	min: a, max: b, q: s      a, a+s, …, b; s must lead exactly to b
//	parameters: {…}           a group: its members' names begin with the group's
//	                          name and a dot
//
// and may have when. Names are free: dots, hyphens and names of keys are fine.
// Between ends that are not integers there is no grid without q.
//
// A distribution may be said: constant for value, categorical for values,
// int_uniform for integer min and max, and q_uniform for min, max and q, which
// then is numpy's arange bit for bit, as at W&B: max is left out, and q is 1 if
// absent. All other distributions, and probabilities, belong to random searches
// and are refused. Values of a range with fractions, other than q_uniform's, are
// the numbers nearest to their decimal forms: 0.1 to 0.5 by 0.1 has 0.3, not
// 0.30000000000000004.
//
// A value that is listed twice is dropped with a note; 1 and 1.0 are one value.
//
// # Types
//
// The trainer's schema decides what type a value has. Where it expects a number,
// 1e-3, 10_000_000, 0x10 and quoted "5e-4" are numbers; where it expects an
// integer, 16.0 is 16; where it expects a boolean, yes, no, on, off, true and
// false are booleans; everything else must have the type itself. Values that the
// schema refuses are errors at their place. Without a schema types are as YAML's
// core schema has them: 1e-3 is a number, "1e-3" is text, and so are yes and
// 2020-01-01. Numbers that are not finite are refused.
//
// # Conditions
//
// A match maps parameters of the sweep to a value or a list of values. A point
// fits if each of them exists there and has one of its values; they are compared
// in the trainer's types, so 1e-3 fits 0.001.
//
// A parameter with when exists only at the points that fit all its conditions:
// its own, those of the groups around it, and those of the key when. Elsewhere
// the trainer's default holds, and points that would then be equal are one
// point. Conditions must not form a circle. A point that fits an entry of
// exclude is left out.
//
// A value in a match that the parameter never has is noted: it is left over from
// a longer list, or misspelt.
//
// # Zip
//
// Each list of zip names two or more parameters with equally many values, which
// advance together in the place of the first of them. Rows that repeat are
// dropped with a note, single values are not.
//
// # Order
//
// Points are in the order of the file: the first parameter varies slowest, seeds
// fastest. (W&B sorts names; the set is the same.)
//
// # YAML
//
// Anchors, aliases and merge keys (<<) work. Order and places are those of the
// text: byte order marks and CRLF are fine. A second document, more than MaxSize
// bytes, more than MaxDepth levels, and aliases that expand to more than a
// million nodes are errors.
package file
