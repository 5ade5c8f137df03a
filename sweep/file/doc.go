// Package file decodes sweep files: YAML or JSON in the form that Weights & Biases users know, with
// additional keys. docs/reference/keys.md lists all keys.
//
//	trainer, err := file.Trainer(name, data)
//	…
//	f, err := file.Decode(name, data, file.Options{Description: description})
//	for index, point := range f.Grid.All(0) { … }
//
// [Decode] checks the whole file, by the trainer's description if it has one, and returns [Errors],
// each with file, line, column and key. [File.Locate] finds the place of an error that others
// return about a file's values. [Schema] returns the JSON Schema for editors.
package file
