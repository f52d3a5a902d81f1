// Command floor is the floor on standard input and output.
package main

import (
	"log"
	"os"

	"github.com/seed38e7925c/parley/bench/internal/floor"
)

func main() {
	if err := floor.New(0, false, false).ServeLines(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
