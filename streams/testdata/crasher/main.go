// Command crasher appends numbered envelopes to a log until it is killed or has
// appended as many as it was told, and says on stdout which were acknowledged.
//
//	crasher DIR COUNT
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"cmem/streams"
	"cmem/streams/envelope"
)

func main() {
	count, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = run(os.Args[1], count)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, count int) (err error) {
	ctx := context.Background()
	l, err := streams.Open(ctx, streams.Config{Dir: dir, Reserve: -1, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	next := 0 // as ingest does: what the log has is not sent again
	for _, err := range l.Read(ctx, 0) {
		if err != nil {
			return err
		}
		next++
	}
	fmt.Println("open", next)
	for turn := 0; next < count; turn++ {
		n := min([]int{1, 2, 7, 150, 1}[turn%5], count-next)
		envs := make([]envelope.Envelope, n)
		for i := range envs {
			envs[i] = numbered(next + i)
		}
		at, err := l.Append(ctx, envs...)
		for range at {
			fmt.Println("acked", next)
			next++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// numbered makes envelope i; some are in parts.
func numbered(i int) envelope.Envelope {
	body := fmt.Appendf(nil, `{"n":%d}`, i)
	if i%100 == 5 {
		body = make([]byte, 700<<10)
		rnd := rand.New(rand.NewPCG(uint64(i), 0))
		for j := range body {
			body[j] = byte(rnd.Uint32())
		}
	}
	return envelope.Envelope{ID: fmt.Sprint("n/", i), Type: envelope.HookReceived, Source: "crasher", Subject: "s",
		Time: time.Unix(int64(i), 0), Body: body}
}
