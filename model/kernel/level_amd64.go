package kernel

import "golang.org/x/sys/cpu"

func detect() Level {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA:
		return Plain
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL || !x.HasBMI2:
		return AVX2
	}
	return AVX512
}
