package random

type key [2]uint32

// philox enciphers a counter: Philox4x32-10 of Salmon, Moraes, Dror and Shaw,
// "Parallel Random Numbers: As Easy as 1, 2, 3" (2011). Counters that differ give
// blocks that are independent for all that tests can tell.
func philox(k key, c0, c1, c2, c3 uint32) (uint32, uint32, uint32, uint32) {
	k0, k1 := k[0], k[1]
	for range 10 {
		first, second := 0xD2511F53*uint64(c0), 0xCD9E8D57*uint64(c2)
		c0, c1, c2, c3 = uint32(second>>32)^c1^k0, uint32(second), uint32(first>>32)^c3^k1, uint32(first)
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return c0, c1, c2, c3
}
