package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/config"
)

func (a *app) newConfig() *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "Show every setting, its value and what it means",
		RunE: func(*cobra.Command, []string) error {
			dir, err := a.home()
			if err != nil {
				return err
			}
			cfg, err := a.settings(dir)
			if err != nil {
				return err
			}
			if a.json {
				return a.print(cfg)
			}
			a.say("# %s, over it the environment", dir.Config())
			for _, s := range cfg.List() {
				a.say("\n%s = %s    (%s)\n    %s", s.Name, shown(s), s.Environment, s.Doc)
			}
			return nil
		},
	}
}

// shown writes a value; a list that is not set has its default.
func shown(s config.Setting) string {
	if list, ok := s.Value.([]string); ok && list == nil && s.Default != "" {
		return "[" + s.Default + "] (the default, not set)"
	}
	return fmt.Sprint(s.Value)
}
