//go:build !failpoint

package streams

func armFailpoints(string) {}
