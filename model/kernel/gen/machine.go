package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/mmcloughlin/avo/x86"
)

// machine builds the functions of one level. Its methods emit one instruction,
// or the few that the level needs for one operation.
type machine struct {
	*build.Context
	name      string // end of every function's name
	lanes     int    // float32 in a vector
	status    operand.Mem
	labels    int
	functions []function // of the table
	constants map[uint32]operand.Mem
	masks     operand.Mem // lanes of ones, then as many of zeros
}

func newMachine(name string, lanes int) *machine {
	m := &machine{Context: build.NewContext(), name: name, lanes: lanes, constants: map[uint32]operand.Mem{}}
	m.ConstraintExpr("amd64")
	if !m.wide() {
		m.masks = m.StaticGlobal("masks")
		m.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 2 * lanes {
			m.AddDatum(4*i, operand.U32(map[bool]uint32{true: math.MaxUint32}[i < lanes]))
		}
	}
	return m
}

// wide reports whether vectors have 512 bits, and with them 32 registers and masks.
func (m *machine) wide() bool { return m.lanes == 16 }

// bytes is the size of a vector.
func (m *machine) bytes() int { return 4 * m.lanes }

// verify makes sure that the level's instructions and registers are all that is
// used, and no instruction that is only approximate.
func (m *machine) verify(f *ir.File) error {
	allowed := []string{"AVX", "AVX2", "FMA3", "SSE", "MMX+", "BMI2"} // MMX+ is what avo calls prefetching
	if m.wide() {
		allowed = append(allowed, "AVX512F", "AVX512VL", "AVX512BW", "AVX512DQ")
	}
	for _, fn := range f.Functions() {
		for _, isa := range fn.ISA {
			if !slices.Contains(allowed, isa) {
				return fmt.Errorf("function %s needs %s", fn.Name, isa)
			}
		}
		for _, i := range fn.Instructions() {
			if strings.HasPrefix(i.Opcode, "VRCP") || strings.HasPrefix(i.Opcode, "VRSQRT") {
				return fmt.Errorf("function %s uses %s, whose result depends on the processor", fn.Name, i.Opcode)
			}
			for _, r := range i.Registers() {
				p := reg.ToPhysical(r)
				if !m.wide() && p != nil && p.Kind() == reg.KindVector && p.PhysicalIndex() > 15 {
					return fmt.Errorf("function %s uses register %s", fn.Name, r.Asm())
				}
			}
		}
	}
	return nil
}

// begin starts a function whose name is completed by the level's. Every function
// flushes subnormals to zero until end.
func (m *machine) begin(name, signature string, doc ...string) {
	m.Function(name + m.name)
	m.Attributes(attr.NOSPLIT)
	m.SignatureExpr(signature)
	m.Pragma("noescape")
	m.Doc(append([]string{name + m.name + " is " + doc[0]}, doc[1:]...)...)
	m.status = m.AllocLocal(8)
	const flushToZero, denormalsAreZero = 1 << 15, 1 << 6
	r := m.GP32()
	m.VSTMXCSR(m.status)
	m.MOVL(m.status, r)
	m.ORL(operand.U32(flushToZero|denormalsAreZero), r)
	m.MOVL(r, m.status.Offset(4))
	m.VLDMXCSR(m.status.Offset(4))
}

// end returns from the function that begin started.
func (m *machine) end() {
	m.VLDMXCSR(m.status)
	m.VZEROUPPER()
	m.RET()
}

// label is a name that the function does not use yet.
func (m *machine) label(stem string) string {
	m.labels++
	return fmt.Sprintf("%s%d", stem, m.labels)
}

// param loads a parameter into a new general register.
func (m *machine) param(name string) reg.GPVirtual {
	r := m.GP64()
	m.Load(m.Param(name), r)
	return r
}

// argument is the place of a parameter in memory.
func (m *machine) argument(name string) operand.Mem {
	b, err := m.Param(name).Resolve()
	if err != nil {
		panic(fmt.Sprintf("gen: parameter %s: %v", name, err))
	}
	return b.Addr
}

// vectors are the vector registers.
func (m *machine) vectors() []reg.VecPhysical {
	if m.wide() {
		return zmm
	}
	return ymm
}

// vec is vector register i.
func (m *machine) vec(i int) reg.VecPhysical { return m.vectors()[i] }

// lastMask is what selects the lanes of the last of a row's vectors.
type lastMask struct {
	k reg.Register // a mask register, or a vector whose lanes' signs are the mask
}

// mask makes the mask of the first count lanes, 1 ≤ count ≤ lanes, in register r, or a new
// one (used by AVX2 only). count is changed.
func (m *machine) mask(count reg.GPVirtual, r reg.Register) lastMask {
	if m.wide() {
		k, ones := m.K(), m.GP64()
		m.MOVQ(operand.I32(-1), ones)
		m.BZHIQ(count, ones, ones)
		m.KMOVW(ones.As32(), k)
		return lastMask{k}
	}
	if r == nil {
		r = m.vector()
	}
	table := m.GP64()
	m.LEAQ(m.masks.Offset(4*m.lanes), table)
	m.NEGQ(count)
	m.VMOVUPS(operand.Mem{Base: table, Index: count, Scale: 4}, r)
	return lastMask{r}
}

// load is dst = mem, with zeros outside the mask if there is one.
func (m *machine) load(mem operand.Mem, mask *lastMask, dst reg.Register) {
	switch {
	case mask == nil:
		m.VMOVUPS(mem, dst)
	case m.wide():
		m.VMOVUPS_Z(mem, mask.k, dst)
	default:
		m.VMASKMOVPS(mem, mask.k, dst)
	}
}

// store is mem = src inside the mask.
func (m *machine) store(src reg.Register, mask *lastMask, mem operand.Mem) {
	switch {
	case mask == nil:
		m.VMOVUPS(src, mem)
	case m.wide():
		m.VMOVUPS(src, mask.k, mem)
	default:
		m.VMASKMOVPS(src, mask.k, mem)
	}
}

// zero is dst = 0.
func (m *machine) zero(dst reg.Register) {
	if !m.wide() {
		m.VXORPS(dst, dst, dst)
		return
	}
	i, err := x86.VPXORD(dst, dst, dst)
	if err != nil {
		panic(fmt.Sprintf("gen: zero: %v", err))
	}
	i.CancellingInputs = true // else the register would be taken since the function's start
	m.Instruction(i)
}

// float is the place of a float32 constant.
func (m *machine) float(x float64) operand.Mem {
	bits := math.Float32bits(float32(x))
	if mem, ok := m.constants[bits]; ok {
		return mem
	}
	m.constants[bits] = m.static(fmt.Sprintf("float%08x", bits), operand.U32(bits))
	return m.constants[bits]
}

// double is the place of a float64 constant.
func (m *machine) double(x float64) operand.Mem {
	bits := math.Float64bits(x)
	return m.static(fmt.Sprintf("double%016x", bits), operand.U64(bits))
}

func (m *machine) static(name string, value operand.Constant) operand.Mem {
	mem := m.StaticGlobal(name)
	m.DataAttributes(attr.RODATA | attr.NOPTR)
	m.AddDatum(0, value)
	return mem
}

var (
	zmm = []reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12,
		reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27,
		reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}
	ymm = []reg.VecPhysical{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12,
		reg.Y13, reg.Y14, reg.Y15,
	}
)
