// Package racecanary holds a deliberate data race, compiled only under the build tag racecanary. "make race" runs it
// with the flags of its own run and fails unless the race is reported, so that a race run without the race detector
// cannot pass for one.
package racecanary
