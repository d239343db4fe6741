// Package model is what weir promises, as a program: every policy, reservation,
// change of policy, client and layer in the plainest code that can be right.
// Tests hold weir against it, to the last field of each Decision.
//
// It shares nothing with weir but the values that it is told and tells: Policy,
// Limit, Decision, Stats and the errors. A number is a rational, a state is a
// list of what was taken and when, and what cannot be read off that is looked
// for. Nothing here is fast, and nothing is safe for concurrent use.
//
// From the bottom up: a meter is one algorithm (bucket, window, counter, log), a
// tree is a Policy of them, a Key is a tree with what is reserved of it, and a
// Limiter, a PerClient and Layers are those of weir.
//
// Where weir says no more than a bound, such as which of several equally full
// clients is forgotten, the model asks its user what weir has chosen.
package model
