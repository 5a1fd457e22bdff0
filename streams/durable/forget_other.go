//go:build !linux || !(amd64 || arm64 || riscv64 || loong64)

package durable

import "os"

// forgetPages: this system does not offer it. macOS keeps pages dirty after a
// failed sync, so that the next one tries them again; Windows writes through.
func forgetPages(*os.File) error { return nil }
