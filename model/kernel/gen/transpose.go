package main

import "github.com/mmcloughlin/avo/operand"

// transpose moves blocks of 8×8, in 256-bit registers at both levels.
func (m *machine) transpose() {
	const side = 8
	m.begin("transpose", "func(dst *float32, dstStride int, src *float32, srcStride, rows, cols int)",
		"dst[j][i] = src[i][j], strides in bytes; rows and cols of src are multiples of 8 and positive.")
	dst, src, rows := m.param("dst"), m.param("src"), m.param("rows")
	dstStride, srcStride := m.param("dstStride"), m.param("srcStride")
	m.Label("rows")
	from, to, cols := m.GP64(), m.GP64(), m.param("cols")
	m.MOVQ(src, from)
	m.MOVQ(dst, to)
	m.Label("cols")
	a, b := ymm[:side], ymm[side:]
	p := m.GP64()
	m.MOVQ(from, p)
	for i := range side {
		m.VMOVUPS(operand.Mem{Base: p}, a[i])
		if i < side-1 {
			m.ADDQ(srcStride, p)
		}
	}
	for i := 0; i < side; i += 2 { // pairs of rows
		m.VUNPCKLPS(a[i+1], a[i], b[i])
		m.VUNPCKHPS(a[i+1], a[i], b[i+1])
	}
	for i := 0; i < side; i += 4 { // quarters of columns
		for q := range 2 {
			m.VSHUFPS(operand.U8(0x44), b[i+2+q], b[i+q], a[i+2*q])
			m.VSHUFPS(operand.U8(0xee), b[i+2+q], b[i+q], a[i+2*q+1])
		}
	}
	for i := range side / 2 { // halves
		m.VPERM2F128(operand.U8(0x20), a[i+4], a[i], b[i])
		m.VPERM2F128(operand.U8(0x31), a[i+4], a[i], b[i+4])
	}
	for i := range side {
		m.VMOVUPS(b[i], operand.Mem{Base: to})
		m.ADDQ(dstStride, to)
	}
	m.ADDQ(operand.U8(4*side), from)
	m.SUBQ(operand.U8(side), cols)
	m.JG(operand.LabelRef("cols"))
	m.LEAQ(operand.Mem{Base: src, Index: srcStride, Scale: side}, src)
	m.ADDQ(operand.U8(4*side), dst)
	m.SUBQ(operand.U8(side), rows)
	m.JG(operand.LabelRef("rows"))
	m.end()
}
