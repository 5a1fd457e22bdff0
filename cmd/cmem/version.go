package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/config"
)

func (a *app) newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version",
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.print(map[string]string{"version": config.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			a.say("%s", versionLine())
			return nil
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("cmem %s (%s, %s/%s)", config.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
