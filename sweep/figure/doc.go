// Package figure draws the results of sweeps for papers: curves, a parameter
// against a metric, heat maps, parallel coordinates and tables, as SVG or PNG.
//
// The same results give the same picture, byte for byte: order comes from the
// trials' indices, fonts are embedded, and nothing depends on time or chance.
// Colours are those of Okabe and Ito, and viridis for values, which colour-blind
// readers can tell apart; lines differ in dashes too where there are many. What a
// picture leaves out it says below itself.
package figure
