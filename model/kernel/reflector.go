package kernel

import (
	"math"
	"unsafe"
)

// ReflectLeftAll is Q = H·Q by the Householder reflector of each u of us, one after the
// other,
//
//	H = I − 2·u·uᵀ/(uᵀu)
//
// acting on the last len(u) rows of Q (H_k(u_k) of Zhang, Lei and Dhillon 2018,
// equation 6); the rows before stay. It costs 4·len(u)·q.Cols operations each. H is
// its own inverse: a second call undoes the first. u = 0 means the identity (as
// does a u whose uᵀu is below the normal range).
func (s *Set[F]) ReflectLeftAll(q Matrix[F], us [][]F) {
	q.check()
	checkReflectors(&q, us)
	if !q.empty() {
		s.backend.reflectLeftAll(q, us)
	}
}

// ReflectLeftAllBackward is the backward pass of ReflectLeftAll, the last of us first.
// There is one of dus for each of us. q is its result H·Q and is overwritten with Q, H
// being its own inverse, so that a chain of reflections is undone in the memory of one
// product. g is the gradient ∂L/∂(H·Q) and is overwritten with ∂L/∂Q = H·g; the
// gradient of u is added to du. It is algorithm 3 (Hgrad) of the paper's appendix
// summed over the columns:
//
//	α = s·uᵀQ   β = s·uᵀg   s = 2/(uᵀu)
//	du += −g·αᵀ − Q·βᵀ + (α·β)·u
//	g −= u·β
//
// u = 0 adds nothing to du.
func (s *Set[F]) ReflectLeftAllBackward(q, g Matrix[F], us, dus [][]F) {
	g.check()
	q.checkShape(g.Rows, g.Cols)
	if len(us) != len(dus) {
		panic("kernel: numbers of reflectors and gradients differ")
	}
	checkReflectors(&g, us)
	for i, u := range us {
		checkLengths(dus[i], u)
	}
	if !g.empty() {
		s.backend.reflectLeftAllBackward(q, g, us, dus)
	}
}

// checkReflectors panics if one is longer than a column of the matrix.
func checkReflectors[F Float](m *Matrix[F], us [][]F) {
	for _, u := range us {
		if len(u) > m.Rows {
			panic("kernel: reflector longer than matrix")
		}
	}
}

// NormalizeAll scales each of us to unit length. One that is zero, or has no finite
// length, stays.
func (s *Set[F]) NormalizeAll(us [][]F) { s.backend.normalizeAll(us) }

func (p plain[F]) normalizeAll(us [][]F) {
	for _, u := range us {
		if sum := plainSumSquares(u); sum > 0 && !math.IsInf(sum, 0) {
			plainScale(u, F(1/math.Sqrt(sum)))
		}
	}
}

func (p plain[F]) reflectLeftAll(q Matrix[F], us [][]F) {
	for _, u := range us {
		plainReflectLeft(q.Slice(q.Rows-len(u), q.Rows), u)
	}
}

func (p plain[F]) reflectLeftAllBackward(q, g Matrix[F], us, dus [][]F) {
	for i := len(us) - 1; i >= 0; i-- {
		first := g.Rows - len(us[i])
		plainReflectorBackward(q.Slice(first, g.Rows), g.Slice(first, g.Rows), us[i], dus[i])
	}
}

// plainReflectorScale is 2/(uᵀu), or 0 if u is too short for that to be a number.
func plainReflectorScale[F Float](u []F) F {
	norm, smallestNormal := plainSumSquares(u), 0x1p-1022
	if unsafe.Sizeof(F(0)) == 4 {
		smallestNormal = 0x1p-126
	}
	if norm < smallestNormal {
		return 0
	}
	return F(2 / norm)
}

// a = s·uᵀQ, q[j] −= u[j]·a, four columns at a time
func plainReflectLeft[F Float](q Matrix[F], u []F) {
	scale := plainReflectorScale(u)
	c := 0
	for ; c+4 <= q.Cols; c += 4 {
		var a0, a1, a2, a3 F
		for j, x := range u {
			p := (*[4]F)(q.Data[j*q.Stride+c:])
			a0 += x * p[0]
			a1 += x * p[1]
			a2 += x * p[2]
			a3 += x * p[3]
		}
		a0, a1, a2, a3 = scale*a0, scale*a1, scale*a2, scale*a3
		for j, x := range u {
			p := (*[4]F)(q.Data[j*q.Stride+c:])
			p[0] -= x * a0
			p[1] -= x * a1
			p[2] -= x * a2
			p[3] -= x * a3
		}
	}
	for ; c < q.Cols; c++ {
		var a F
		for j, x := range u {
			a += x * q.Data[j*q.Stride+c]
		}
		a *= scale
		for j, x := range u {
			q.Data[j*q.Stride+c] -= x * a
		}
	}
}

// Q = H·q, α = s·uᵀQ, β = s·uᵀg, du[j] += (α·β)·u[j] − g[j]·α − Q[j]·β, g[j] −= u[j]·β
func plainReflectorBackward[F Float](q, g Matrix[F], u, du []F) {
	plainReflectLeft(q, u)
	scale := plainReflectorScale(u)
	c := 0
	for ; c+2 <= g.Cols; c += 2 {
		var a0, a1, b0, b1 F
		for j, x := range u {
			p, d := (*[2]F)(q.Data[j*q.Stride+c:]), (*[2]F)(g.Data[j*g.Stride+c:])
			a0 += x * p[0]
			a1 += x * p[1]
			b0 += x * d[0]
			b1 += x * d[1]
		}
		a0, a1, b0, b1 = scale*a0, scale*a1, scale*b0, scale*b1
		ab := a0*b0 + a1*b1
		for j, x := range u {
			p, d := (*[2]F)(q.Data[j*q.Stride+c:]), (*[2]F)(g.Data[j*g.Stride+c:])
			du[j] += ab*x - (d[0]*a0 + d[1]*a1 + p[0]*b0 + p[1]*b1)
			d[0] -= x * b0
			d[1] -= x * b1
		}
	}
	if c < g.Cols {
		var a, b F
		for j, x := range u {
			a += x * q.Data[j*q.Stride+c]
			b += x * g.Data[j*g.Stride+c]
		}
		a, b = scale*a, scale*b
		for j, x := range u {
			d := &g.Data[j*g.Stride+c]
			du[j] += a*b*x - (*d*a + q.Data[j*q.Stride+c]*b)
			*d -= x * b
		}
	}
}
