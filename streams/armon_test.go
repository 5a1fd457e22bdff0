//go:build failpoint

package streams

import "cmem/streams/durable"

func armFailpoints(spec string) { durable.Arm(spec) }
