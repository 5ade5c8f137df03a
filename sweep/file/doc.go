// Package file decodes sweep files.
package file
