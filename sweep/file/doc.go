// Package file decodes sweep files.
//
// A sweep file is one YAML (or JSON) document in the form that Weights & Biases
// users know, with further keys. A file of theirs with method: grid gives the
// same set of points here as there, and one with a program runs it unchanged.
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
//	limits: {timeout: 10m, attempts: 3, losses: 3, points: 1000, artifact: 1GiB, artifacts: 4GiB}
//	requires: {gpu: a100, memory: 8GiB}
//	artifacts: [weights]
//
// # Keys
//
//	name         shown in lists and tables; the file's own name if absent
//	description  free text
//	trainer      the program that trains; if absent script for a file with program
//	             or command, else builtin
//	program      the script that is run for each trial, as in train.py
//	command      its command line, with W&B's macros; ${env} ${interpreter}
//	             ${program} ${args} if absent
//	files        further files, or patterns of them, whose bytes decide about
//	             results, as in requirements.txt
//	project, entity
//	             what scripts that log to W&B see as theirs
//	pool         the kind of worker that the trials need; cpu if absent
//	priority     orders active sweeps, larger first; 0 if absent
//	parameters   what spans the grid, see below; required
//	replicates   k adds the parameter seed with the values 1 to k, which varies fastest
//	zip          lists of parameters that advance together
//	when         parameters that exist only under a condition
//	exclude      points that are left out
//	run_cap      the largest number of points; the first ones are kept; required
//	             by method: random
//	seed         of method: random: another one draws other points; 0 if absent
//	select       how trials are compared, in tables, in best_trials and in what is
//	             shown of the best: group (parameters whose values compete apart),
//	             by (a metric), goal (minimize or maximize)
//	metric       W&B's {name, goal}: stands in for select's by and goal
//	limits       timeout (of one execution, as in 90s, 10m, 1h30m; none if
//	             absent), attempts (executions that may fail by the trial's own
//	             fault; 3), losses (executions whose workers may vanish while they
//	             run; 3), points (kept of a curve; 1000), artifact (the largest
//	             size of one; 1GiB), artifacts (of all of a trial; 4GiB)
//	requires     what a worker must have: labels, as in {gpu: a100}, and memory
//	             of a trial, as in 8GiB (the trainer's estimate if absent)
//	artifacts    what is kept of a trial besides its result, by name, as weights:
//	             "sweep trainer describe" lists what a trainer can hand over
//	method       grid, random, or absent, which is grid
//
// The keys controller, job, image_uri, scheduler, apiVersion, kind and metrics of
// W&B are taken, mean nothing, and are named once in a note, as are program,
// command, project and entity beside another trainer than script. early_terminate
// is noted: every trial runs to its end. Any other key is an error, as is a key
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
// absent. All other distributions, and probabilities, belong to random searches.
// Values of a range with fractions, other than q_uniform's, are
// the numbers nearest to their decimal forms: 0.1 to 0.5 by 0.1 has 0.3, not
// 0.30000000000000004.
//
// A value that is listed twice is dropped with a note; 1 and 1.0 are one value.
//
// # Random search
//
// With method: random the points are run_cap draws from the parameters. Lists give
// each value with equal probability, or with its probabilities; integers from min
// to max are equally probable. Between other ends a value is uniform, and with q
// rounded to its multiples. W&B's distributions may be said:
//
//	uniform, log_uniform_values, inv_log_uniform_values   min, max
//	log_uniform, inv_log_uniform     min, max: exponents of e
//	normal, log_normal               mu (0), sigma (1)
//	q_uniform, q_log_uniform_values, q_log_uniform, q_normal, q_log_normal
//	                                 the same, rounded to multiples of q (1)
//
// A draw is a function of seed, the point's number and the parameter's name: it
// stays what it is when there are more points or other parameters. Points may
// repeat. Each is taken with all seeds of replicates; exclude is refused, when and
// zip work as in a grid.
//
// # Types
//
// The trainer's schema decides what type a value has. Where it expects a number,
// 1e-3, 10_000_000, 0x10 and quoted "5e-4" are numbers; where it expects an
// integer, 16.0 is 16; where it expects a boolean, yes, no, on, off, true and
// false are booleans; everything else must have the type itself. Values that the
// schema refuses are errors at their place. Without a schema types are as YAML's
// core schema has them: 1e-3 is a number, "1e-3" is text, and so are yes and
// 2020-01-01. Numbers that are not finite are refused. For a script yes, no, on and
// off without quotes are booleans, as W&B reads them.
//
// # Parameters that do not apply
//
// The trainer's schema may say that a parameter applies only where others have
// certain values. Elsewhere it does not exist: points that differ in nothing else
// are one. It is an error to give such a parameter a single value where it applies
// nowhere; a list of values is noted.
//
// # Groups
//
// The trainer's schema may say that a parameter changes what metrics measure, or leaves
// them as they are, as a share of series that is held out or an average that is taken
// after the last validation. Points of one group of select must agree in it, also where
// defaults decide its value: a file in which they do not is refused.
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
