package sweep

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// sizeForm is a number of bytes with a unit: 8GiB, 1.5 GB, 512M, 4096.
var sizeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([KMGTP]?)(i?)B?$`) })

// ParseSize reads a number of bytes: 8GiB, 512MiB, 1.5GB, 4096. K, M, G, T and P
// count in 1024s with an i behind them and in 1000s without.
func ParseSize(text string) (int64, error) {
	parts := sizeForm().FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil || parts[2] == "" && parts[3] != "" {
		return 0, fmt.Errorf("%q is no size: expected a number of bytes with its unit, as in 8GiB, 512MiB or 1.5GB",
			text)
	}
	value, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no size: %w", text, err)
	}
	base := 1000.0
	if parts[3] == "i" {
		base = 1024
	}
	value *= math.Pow(base, float64(strings.Index("KMGTP", parts[2])+1)*float64(len(parts[2])))
	if value >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is too large a size", text)
	}
	return int64(value), nil
}

// SizeText writes a number of bytes as people say it: 512 MiB, 1.5 GiB.
func SizeText(size int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	value, unit := float64(size), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + units[unit]
}

// CountText writes a number of things: 1 trial, 2 trials.
func CountText[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
