package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sweep/sweep"
)

// smiTime is how long nvidia-smi may take: with a sick driver it never ends, and ignores SIGKILL.
const smiTime = 10 * time.Second

// The exit codes of nvidia-smi on a machine without cards that can be used: no driver, no library.
const (
	smiNoDriver  = 9
	smiNoLibrary = 12
)

// errNone means that the machine has no such devices.
var errNone = errors.New("no devices")

// smi is nvidia-smi.
type smi struct {
	path string
	time time.Duration
	// hangs means that a call has not ended.
	hangs atomic.Bool
	// minimal means that the driver does not know all fields.
	minimal bool
}

// findSMI returns nvidia-smi, nil if there is none.
func findSMI() *smi {
	for _, name := range []string{"nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"} {
		if path, err := exec.LookPath(name); err == nil {
			return &smi{path: path, time: smiTime}
		}
	}
	return nil
}

// run runs nvidia-smi and returns what it printed. One that does not end is left alone, and no other is started.
func (s *smi) run(ctx context.Context, arguments ...string) (string, error) {
	if !s.hangs.CompareAndSwap(false, true) {
		return "", fmt.Errorf("%s does not answer: the driver may be broken", s.path)
	}
	var out bytes.Buffer
	cmd := exec.Command(s.path, arguments...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second
	ended := make(chan error, 1)
	go func() {
		err := cmd.Run()
		s.hangs.Store(false)
		ended <- err
	}()
	timer := time.NewTimer(s.time)
	defer timer.Stop()
	select {
	case err := <-ended:
		return out.String(), s.explain(out.String(), err)
	case <-timer.C:
		return "", fmt.Errorf("%s has not answered within %v: the driver may be broken", s.path, s.time)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// explain returns the error of a call: errNone if there are no cards, and otherwise with what it printed.
func (s *smi) explain(out string, err error) error {
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		code := exit.ExitCode()
		if code == smiNoDriver || code == smiNoLibrary {
			return errNone
		}
		line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
		return fmt.Errorf("%s failed with exit code %d: %s", s.path, code, line)
	}
	if err == nil && strings.HasPrefix(out, "No devices were found") {
		return errNone
	}
	return err
}

// unknownField is in the answer of a driver that does not know a field.
const unknownField = "is not a valid field to query"

// cards are the fields of a card; those after the third may be unknown to a driver.
const (
	cards        = "index,uuid,memory.total,memory.used,mig.mode.current,name"
	minimalCards = "index,uuid,memory.total"
)

// cardRows returns the rows of the cards, each with as many cells as cards has, unknown ones empty.
func (s *smi) cardRows(ctx context.Context) ([][]string, error) {
	fields := cards
	if s.minimal {
		fields = minimalCards
	}
	out, err := s.run(ctx, "--query-gpu="+fields, "--format=csv,noheader,nounits")
	if !s.minimal && (err != nil && !errors.Is(err, errNone) || strings.Contains(out, unknownField)) {
		if less, lessErr := s.run(ctx, "--query-gpu="+minimalCards, "--format=csv,noheader,nounits"); lessErr == nil {
			s.minimal = strings.Contains(out, unknownField)
			out, err = less, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return rowsOf(out, strings.Count(cards, ",")+1), nil
}

// rowsOf reads lines of cells, of which the last may have commas.
func rowsOf(out string, columns int) (rows [][]string) {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		row := strings.SplitN(line, ",", columns)
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		for len(row) < columns {
			row = append(row, "")
		}
		rows = append(rows, row)
	}
	return rows
}

// known returns the text of a cell, "" if it is in brackets, as [N/A].
func known(cell string) string {
	if strings.HasPrefix(cell, "[") {
		return ""
	}
	return cell
}

// broken reports whether a cell says that a card has failed.
func broken(cell string) bool {
	return strings.HasPrefix(cell, "[") && (strings.Contains(cell, "Error") || strings.Contains(cell, "lost"))
}

// mebibytes reads a number of MiB; -1 if it is not known.
func mebibytes(cell string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(cell, " MiB"), 10, 64)
	if err != nil || n < 0 || n > 1<<30 {
		return -1
	}
	return n << 20
}

var (
	cardLine  = regexp.MustCompile(`^GPU (\d+): .*\(UUID: (GPU-[^)]+)\)`)
	sliceLine = regexp.MustCompile(`^\s+(MIG \S+).*Device\s+\d+: \(UUID: (MIG-[^)]+)\)`)
	sliceSize = regexp.MustCompile(`\.(\d+)gb`)
)

// find implements driver: cards, or the slices of those that are cut into such.
func (s *smi) find(ctx context.Context) (list []Device, err error) {
	rows, err := s.cardRows(ctx)
	if err != nil {
		return nil, err
	}
	sliced := map[string]string{} // the models of cards, by their UUIDs
	for _, row := range rows {
		index, err := strconv.Atoi(row[0])
		if err != nil || known(row[1]) == "" {
			continue // a card that has failed
		}
		if row[4] == "Enabled" {
			sliced[row[1]] = known(row[5])
			continue
		}
		list = append(list, Device{Name: sweep.GPUDevice, Index: index, ID: row[1], Token: row[0], Model: known(row[5]),
			Memory: max(mebibytes(row[2]), 0), driver: s})
	}
	if len(sliced) == 0 {
		return list, nil
	}
	out, err := s.run(ctx, "-L")
	if err != nil {
		return nil, err
	}
	var card []string
	for line := range strings.Lines(out) {
		if found := cardLine.FindStringSubmatch(line); found != nil {
			card = found
		}
		slice := sliceLine.FindStringSubmatch(line)
		if slice == nil || card == nil {
			continue
		}
		index, _ := strconv.Atoi(card[1])
		d := Device{Name: sweep.GPUDevice, Index: index, ID: slice[2], Token: slice[2], card: card[2], driver: s,
			Model: strings.TrimSpace(sliced[card[2]] + " " + slice[1])}
		if size := sliceSize.FindStringSubmatch(slice[1]); size != nil {
			gibibytes, _ := strconv.ParseInt(size[1], 10, 64)
			d.Memory = gibibytes << 30
		}
		list = append(list, d)
	}
	slices.SortStableFunc(list, func(a, b Device) int { return a.Index - b.Index })
	return list, nil
}

// look implements driver. Of a slice there are its processes alone.
func (s *smi) look(ctx context.Context) (map[string]figures, error) {
	rows, err := s.cardRows(ctx)
	if err != nil {
		return nil, err
	}
	out, err := s.run(ctx, "--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader,nounits")
	if err != nil {
		return nil, err
	}
	seen := map[string]figures{}
	for _, row := range rows {
		f := figures{used: mebibytes(row[3])}
		if row[4] == "Enabled" {
			f.used = -1
		}
		if !broken(row[3]) {
			seen[row[1]] = f
		}
	}
	for _, row := range rowsOf(out, 3) {
		if pid, err := strconv.Atoi(row[1]); err == nil {
			f, there := seen[row[0]]
			if !there { // of a slice
				f.used = -1
			}
			f.processes = append(f.processes, pid)
			seen[row[0]] = f
		}
	}
	return seen, nil
}

// hide implements driver.
func (s *smi) hide() []string { return []string{"CUDA_VISIBLE_DEVICES="} }

// show implements driver. Numbers are those of nvidia-smi, in an order that CUDA takes only if it is told to.
func (s *smi) show(tokens []string, inherited bool) []string {
	variables := []string{"CUDA_VISIBLE_DEVICES=" + strings.Join(tokens, ",")}
	if !inherited {
		variables = append(variables, "CUDA_DEVICE_ORDER=PCI_BUS_ID")
	}
	return variables
}
