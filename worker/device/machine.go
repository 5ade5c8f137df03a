package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"sweep/sweep"
)

// Device is a GPU, a slice of one, or another thing of a machine that is counted.
type Device struct {
	// Name is sweep.GPUDevice, or as in --devices NAME=4. Index is the number of a card, as its driver counts, or of
	// the thing.
	Name  string
	Index int
	// ID is unique on the machine; empty if no driver tells of the device.
	ID string
	// Token stands for a GPU in the variables by which programs see some.
	Token string
	// Model and Memory, in bytes, are empty if they are not known.
	Model  string
	Memory int64

	// card is the ID of the card that a slice is part of.
	card   string
	driver driver
}

// String names the device for people: gpu 3.
func (d Device) String() string { return fmt.Sprintf("%s %d", d.Name, d.Index) }

// driver tells of GPUs of one maker.
type driver interface {
	// find lists the devices; errNone means that there are none.
	find(ctx context.Context) ([]Device, error)
	// look returns what uses each device, by ID.
	look(ctx context.Context) (map[string]figures, error)
	// show are the variables by which a program sees devices, by their tokens, hide those by which it sees none. A name
	// without a value is not to be set. inherited means that the tokens are this process's own.
	show(tokens []string, inherited bool) []string
	hide() []string
}

// figures are what a driver tells of a device: the memory in use, -1 if it is not known, and the processes.
type figures struct {
	used      int64
	processes []int
}

// Choice says which devices of a machine are used: --devices.
type Choice struct {
	// Auto finds GPUs. Otherwise GPUs are those named by number, in their drivers' order.
	Auto bool
	GPUs []int
	// Others are numbers of other things, by name.
	Others map[string]int
}

// mostDevices bounds the devices of a machine.
const mostDevices = 1024

// ParseChoice reads the values of --devices: auto, none, gpu=0,2-3 and NAME=4.
func ParseChoice(values []string) (c Choice, err error) {
	for i, value := range values {
		name, text, counted := strings.Cut(strings.TrimSpace(value), "=")
		switch {
		case !counted && (name == "auto" || name == "none") && (i == 0 || name == "auto"):
			c.Auto = name == "auto"
		case !counted:
			return c, fmt.Errorf("%q: expected auto, none, gpu=0,2-3 or NAME=4", value)
		case name == sweep.GPUDevice:
			c.Auto = false
			if c.GPUs, err = parseNumbers(text); err != nil {
				return c, fmt.Errorf("%q: %w", value, err)
			}
		default:
			count, err := strconv.Atoi(text)
			if err != nil || count < 1 || count > mostDevices {
				return c, fmt.Errorf("%q: expected a number of devices from 1 to %d, as in %s=4", value, mostDevices, name)
			}
			if err := sweep.CheckName("device", name); err != nil {
				return c, err
			}
			if c.Others == nil {
				c.Others = map[string]int{}
			}
			c.Others[name] = count
		}
	}
	return c, nil
}

// parseNumbers reads numbers and ranges: 0,2-3.
func parseNumbers(text string) (list []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.Atoi(low)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(high)
		}
		if err != nil || from < 0 || to < from || to >= mostDevices {
			return nil, fmt.Errorf("%q is no number of a GPU and no range of them: expected 0,2-3", part)
		}
		for n := from; n <= to; n++ {
			if slices.Contains(list, n) {
				return nil, fmt.Errorf("GPU %d is named twice", n)
			}
			list = append(list, n)
		}
	}
	return list, nil
}

// Machine is the devices of a machine that trials may hold.
type Machine struct {
	Devices []Device
	// inherited means that the tokens of GPUs are those of this process's own list.
	inherited bool
}

// Find finds the devices that are chosen, nil if there are none.
func Find(ctx context.Context, c Choice) (*Machine, error) {
	var drivers []driver
	if c.Auto || len(c.GPUs) > 0 {
		if s := findSMI(); s != nil {
			drivers = append(drivers, s)
		}
		if k := findKFD("/sys"); k != nil {
			drivers = append(drivers, k)
		}
	}
	return find(ctx, c, drivers, os.LookupEnv)
}

func find(ctx context.Context, c Choice, drivers []driver, environment func(string) (string, bool)) (*Machine, error) {
	m := &Machine{}
	for _, d := range drivers {
		list, err := d.find(ctx)
		if errors.Is(err, errNone) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the state of the GPUs is not known: %w", err)
		}
		m.Devices = append(m.Devices, list...)
	}
	if c.Auto {
		m.inherit(environment)
	} else if err := m.choose(c.GPUs); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(c.Others))
	for name := range c.Others {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for i := range c.Others[name] {
			m.Devices = append(m.Devices, Device{Name: name, Index: i})
		}
	}
	if len(m.Devices) == 0 {
		return nil, nil //nolint:nilnil // a machine without devices is the usual one, and no error
	}
	return m, nil
}

// choose keeps the GPUs with some numbers. Where no driver tells of any, it believes the numbers.
func (m *Machine) choose(numbers []int) error {
	var chosen []Device
	for _, number := range numbers {
		found := slices.ContainsFunc(m.Devices, func(d Device) bool { return d.Index == number })
		switch {
		case found:
			for _, d := range m.Devices {
				if d.Index == number {
					chosen = append(chosen, d)
				}
			}
		case len(m.Devices) > 0:
			return fmt.Errorf("--devices names GPU %d, and this machine has %s", number, m.numbers())
		default:
			chosen = append(chosen, Device{Name: sweep.GPUDevice, Index: number, Token: strconv.Itoa(number),
				driver: &smi{}})
		}
	}
	m.Devices = chosen
	return nil
}

// numbers lists the numbers of the GPUs.
func (m *Machine) numbers() string {
	var list []string
	for _, d := range m.Devices {
		if text := strconv.Itoa(d.Index); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return "the GPUs " + strings.Join(list, ", ")
}

// Offers counts the devices that are alike, as a worker offers them.
func (m *Machine) Offers() (list []sweep.DeviceOffer) {
	if m == nil {
		return nil
	}
	for _, d := range m.Devices {
		i := slices.IndexFunc(list, func(o sweep.DeviceOffer) bool {
			return o.Name == d.Name && o.Model == d.Model && o.Memory == d.Memory
		})
		if i < 0 {
			list = append(list, sweep.DeviceOffer{Name: d.Name, Model: d.Model, Memory: d.Memory})
			i = len(list) - 1
		}
		list[i].Count++
	}
	return list
}

// hide are the variables of a program that is to see no GPU of the machine.
func (m *Machine) hide() (variables []string) {
	for _, d := range m.drivers() {
		variables = append(variables, d.hide()...)
	}
	return variables
}

// drivers are those of the devices, each once.
func (m *Machine) drivers() (list []driver) {
	for _, d := range m.Devices {
		if d.driver != nil && !slices.Contains(list, d.driver) {
			list = append(list, d.driver)
		}
	}
	return list
}
