// Package weight holds a network's parameters and the ways in which a weight
// matrix is built from them.
//
// All parameters of a network live in one slice of an [Arena] and their
// gradients in another of the same layout; each tensor is a named [View] of
// both. An optimiser is then one loop, a checkpoint one copy.
//
// A [Matrix] turns parameters into a matrix W once a minibatch, and the gradient of W into
// those of the parameters:
//
//	[Dense]        W itself (RNN, IRNN)
//	[Parseval]     likewise, drawn towards orthonormal columns by a penalty
//	[Householder]  W = H(u_n) … H(u_{n-m+1}), orthogonal (oRNN)
//	[SVD]          W = U Σ Vᵀ with U, V as above (Spectral-RNN)
//	[Factorized]   W = U Σ Vᵀ with dense U, V that move by Cayley steps (factorized RNN)
//	[Rotations]    W = R_1 Q_1 … R_k Q_k, orthogonal (VPRNN, SGORNN)
//	[Exponential]  W = exp(A), A skew, orthogonal (SGORNN)
//	[Unitary]      W = D₃ R₂ F⁻¹ D₂ Π R₁ F D₁, unitary, in real numbers (uRNN)
//	[FullUnitary]  W of any unitary matrix, likewise, that moves by Cayley steps (FC uRNN)
//
// A matrix has any numbers of rows and columns; recurrence takes square ones.
//
// Matrices are row-major, W maps a column vector (h ← W h), and gradients are always added,
// never assigned. A wrong shape panics; a wrong option, which may come from a sweep file, is
// an error. Nothing here is safe for use by several goroutines at once.
//
// The parametrisations follow Zhang, Lei and Dhillon, "Stabilizing Gradients
// for Deep Neural Networks via Efficient SVD Parameterization", ICML 2018;
// equation and algorithm numbers are that paper's.
package weight
