//go:build !linux

package kernel

func adviseHuge[F Float]([]F) {}
