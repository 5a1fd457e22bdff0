//go:build failpoint && linux

package torture

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// plan is what the environment asks for.
type plan struct {
	ci   bool
	seed uint64
	time time.Duration
}

func readPlan(t *testing.T) plan {
	p := plan{ci: os.Getenv("TORTURE_CI") != "", seed: 1}
	if !p.ci {
		p.seed = uint64(time.Now().UnixNano())
	}
	var err error
	if s := os.Getenv("TORTURE_SEED"); s != "" {
		if p.seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("SEED: %v", err)
		}
	}
	if p.time, err = time.ParseDuration(cmp.Or(os.Getenv("TORTURE_TIME"), "30m")); err != nil {
		t.Fatalf("TORTURE_TIME: %v", err)
	}
	return p
}

// TestTorture is `make torture`.
func TestTorture(t *testing.T) {
	if os.Getenv("TORTURE") == "" {
		t.Skip("make torture runs it: it takes minutes")
	}
	p := readPlan(t)
	fmt.Printf("torture: seed %d (make torture SEED=%d does the same again)\n", p.seed, p.seed)
	progs, err := buildInto(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	most := 40
	if p.ci {
		most = 1
	}
	phase := func(name string, do func(*testing.T)) {
		at := time.Now()
		ok := t.Run(name, do)
		fmt.Printf("torture: %-10s %6.1f s, ok: %v\n", name, time.Since(at).Seconds(), ok)
	}
	phase("points", func(t *testing.T) { testPoints(t, progs, p.ci) })
	phase("crash", func(t *testing.T) { testCrash(t, progs, p.seed, most) })
	phase("races", func(t *testing.T) { testRaces(t, progs) })
	phase("repair", func(t *testing.T) { testRepair(t, progs) })
	phase("slow", func(t *testing.T) { testSlow(t, progs) })
	checks := 80
	if !p.ci {
		checks = 400
		phase("mutations", func(t *testing.T) { testMutations(t, p.seed) })
	}
	phase("model", func(t *testing.T) { testModel(t, p.seed, checks) })
	for n := p.seed + 1; !p.ci && !t.Failed() && time.Since(began) < p.time; n++ {
		fmt.Printf("torture: again with seed %d\n", n)
		phase("crash", func(t *testing.T) { testCrash(t, progs, n, most) })
		phase("model", func(t *testing.T) { testModel(t, n, checks) })
	}
	phase("branches", testBranches)
}
