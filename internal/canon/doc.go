// Package canon writes JSON values in one canonical form and takes digests over it, so that two texts have the same digest exactly
// when they mean the same value: the order of members, white space, the escapes inside strings and the way a number is written make
// no difference, and nothing is rounded. 1, 1.0 and 10e-1 are one number; 2^53 and 2^53+1 are two.
//
// It is what sealed request state and approvals are bound to: a retry that carries other arguments has another digest.
package canon
