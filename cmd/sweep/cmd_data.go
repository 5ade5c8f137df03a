package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sweep/model/dataset/catalog"
	"sweep/sweep"
)

func newData(s *settings) *cobra.Command {
	return family("data", "List, verify and fetch the public data sets of the papers",
		"They lie in the folders of the data directory: --data DIR, $SWEEP_DATA, or data in the state directory.",
		"  sweep data list\n  sweep data fetch mnist --data data\n  sweep data verify --data data",
		newDataList(s), newDataVerify(s), newDataFetch(s))
}

// States of a file in the data directory.
const (
	fileHere      = "here"
	fileMissing   = "missing"
	fileDifferent = "different"
)

// shownSet is a data set as "data list" prints it.
type shownSet struct {
	*catalog.Set
	Here int `json:"here"` // files that are in the data directory
}

func newDataList(s *settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [SET...]",
		Short: "List data sets, their licences and sources, and how many of their files are there",
		Long: `With SET, its files are listed too: the path in the data directory, whether it is
there, and the digest of its content, unpacked. It is a SHA-256; for two files of which
only git's object ID is known, that. "sweep data verify" compares the digests.

Exit codes: 0 done, 2 no such data set.`,
		Example: "  sweep data list\n  sweep data list mnist har --data data\n  sweep data list --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			root, sets, err := s.catalog(args)
			if err != nil {
				return err
			}
			w := newColumns(cmd.OutOrStdout())
			if len(args) == 0 && !asJSON {
				fmt.Fprintln(w, "SET\tFILES\tFETCH\tLICENCE")
			}
			for _, set := range sets {
				here := 0
				for _, f := range set.Files {
					if _, err := f.Locate(root); err == nil {
						here++
					}
				}
				switch {
				case asJSON:
					err = newEncoder(cmd.OutOrStdout()).Encode(shownSet{set, here})
				case len(args) == 0:
					fetch := "yes"
					if set.ByHand != "" {
						fetch = "by hand"
					}
					fmt.Fprintf(w, "%s\t%d of %d\t%s\t%s\n", set.Name, here, len(set.Files), fetch, set.Licence)
				default:
					err = listFiles(cmd, root, set)
				}
				if err != nil {
					return err
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line, with the files and their addresses")
	return cmd
}

// catalog returns the data directory and the sets of these names.
func (s *settings) catalog(names []string) (root string, sets []*catalog.Set, err error) {
	if root, err = s.dataDir(); err != nil {
		return "", nil, err
	}
	if sets, err = catalog.Find(names); err != nil {
		err = &exitError{exitUsage, err}
	}
	return root, sets, err
}

// listFiles prints a set and its files.
func listFiles(cmd *cobra.Command, root string, set *catalog.Set) error {
	w := newColumns(cmd.OutOrStdout())
	fmt.Fprintf(w, "%s: %s\nlicence: %s\nsource: %s\n", set.Name, set.Title, set.Licence, set.Source)
	if set.ByHand != "" {
		fmt.Fprintf(w, "by hand: %s\n", byHand(set, root))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "STATE\tSIZE\tDIGEST\tPATH")
	for _, f := range set.Files {
		state, size := fileHere, "-"
		if _, err := f.Locate(root); err != nil {
			state = fileMissing
		}
		if f.Size > 0 {
			size = sweep.SizeText(f.Size)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", state, size, f.Digest, f.Path)
	}
	return w.Flush()
}

// byHand says how to get a set that is not fetched.
func byHand(set *catalog.Set, root string) string {
	return fmt.Sprintf("%s; %s to %s", set.Source, set.ByHand, root+string(os.PathSeparator)+set.Name)
}

func newDataVerify(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [SET...]",
		Short: "Verify the digests of the files in the data directory",
		Long: `Without SET, all data sets of which any file is there. Every file that is missing or
different is listed. Files that the catalog does not have are ignored.

Exit codes: 0 all files are right, 1 some are missing or different, 2 no such data set.`,
		Example: "  sweep data verify --data data\n  sweep data verify mnist",
		RunE: func(cmd *cobra.Command, args []string) error {
			root, sets, err := s.catalog(args)
			if err != nil {
				return err
			}
			checked, wrong := 0, 0
			for _, set := range sets {
				n, bad, err := verifySet(cmd, root, set, len(args) > 0)
				if err != nil {
					return err
				}
				checked, wrong = checked+n, wrong+bad
			}
			switch {
			case checked == 0:
				return fmt.Errorf("%s has none of the data sets: fetch one with \"sweep data fetch SET\"", root)
			case wrong > 0:
				return fmt.Errorf("%d of %d files are missing or different", wrong, checked)
			}
			return nil
		},
	}
}

// verifySet prints what is wrong with a set, and whether all is right. One that is not there at all is skipped unless
// it was asked for.
func verifySet(cmd *cobra.Command, root string, set *catalog.Set, asked bool) (checked, wrong int, err error) {
	here := asked
	for _, f := range set.Files {
		if _, err := f.Locate(root); err == nil {
			here = true
		}
	}
	if !here {
		return 0, 0, nil
	}
	out := cmd.OutOrStdout()
	for _, f := range set.Files {
		if err := cmd.Context().Err(); err != nil {
			return 0, 0, err
		}
		different := (*catalog.DifferentError)(nil)
		switch err := f.Check(root); {
		case err == nil:
			continue
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(out, "%s  %s\n", fileMissing, f.Path)
		case errors.As(err, &different):
			fmt.Fprintf(out, "%s  %v\n", fileDifferent, err)
		default:
			return 0, 0, err
		}
		wrong++
	}
	if wrong == 0 {
		fmt.Fprintf(out, "%s: all %d files are right\n", set.Name, len(set.Files))
	}
	return len(set.Files), wrong, nil
}

func newDataFetch(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "fetch SET...",
		Short: "Fetch data sets over HTTPS into the data directory, and verify them",
		Long: `A file appears when its digest is right. An interrupted fetch leaves FILE.part; run the
same command again to resume. Files that are there already are left alone, also if they
are different: remove such a file to fetch it again.

The licence of each set is yours to keep: "sweep data list" shows it. For sets whose
licence or size forbids fetching single files, the command says how to get them by hand.

Exit codes: 0 done, 1 a file cannot be fetched or is different, 2 no such data set.`,
		Example: "  sweep data fetch mnist --data data\n  sweep data fetch ucr har --data data",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, sets, err := s.catalog(args)
			if err != nil {
				return err
			}
			var hand []string
			for _, set := range sets {
				if set.ByHand != "" {
					hand = append(hand, fmt.Sprintf("%s is not fetched: get it from %s", set.Name, byHand(set, root)))
					continue
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s; licence: %s\n", set.Name, set.Title, set.Licence)
				if err := fetchSet(cmd.Context(), cmd, root, set); err != nil {
					return err
				}
			}
			if len(hand) > 0 {
				return errors.New(strings.Join(hand, "\n"))
			}
			return nil
		},
	}
}

// fetchSet fetches the files of a set that are not there.
func fetchSet(ctx context.Context, cmd *cobra.Command, root string, set *catalog.Set) error {
	client := catalog.Client()
	for i := range set.Files {
		f := &set.Files[i]
		_, absent := f.Locate(root)
		err := f.Fetch(ctx, client, root)
		switch {
		case errors.As(err, new(*catalog.DifferentError)) && absent == nil:
			return fmt.Errorf("%w: it was there before; remove it to fetch it again", err)
		case err != nil:
			return err
		case absent != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", f.Path)
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: all %d files are right\n", set.Name, len(set.Files))
	return nil
}
