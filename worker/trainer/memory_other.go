//go:build !linux

package trainer

import "os"

// residentMemory and peakMemory are not known here.
func residentMemory(int) int64          { return 0 }
func peakMemory(*os.ProcessState) int64 { return 0 }
