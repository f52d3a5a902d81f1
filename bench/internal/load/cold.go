package load

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/wire"
)

// Cold measures the time from starting the program at path to its first list of so many tools. The program answers over lines.
func Cold(ctx context.Context, path string, tools int) (Metrics, error) {
	const starts = 5
	var walls, cpus []float64
	for range starts {
		begin := time.Now()
		c, err := start(path, "-tools", fmt.Sprint(tools))
		if err != nil {
			return nil, err
		}
		end := context.AfterFunc(ctx, func() { _ = c.cmd.Process.Kill() }) // it may have ended
		l := wire.NewLines(c.out, c.in)
		answer, err := l.Do(wire.List(true).Line())
		walls = append(walls, float64(time.Since(begin)))
		text := c.stop()
		end()
		if n := bytes.Count(answer, []byte(`"inputSchema"`)); err != nil || n != tools {
			return nil, fmt.Errorf("%d of %d tools: %w %s", n, tools, err, text)
		}
		cpus = append(cpus, float64(c.cmd.ProcessState.UserTime()+c.cmd.ProcessState.SystemTime()))
	}
	return Metrics{Wall: Median(walls), CPU: Median(cpus)}, nil
}
