package main

import (
	"fmt"

	"github.com/spf13/cobra"
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
				a.say("\n%s = %s    (%s)\n    %s", s.Name, fmt.Sprint(s.Value), s.Environment, s.Doc)
			}
			return nil
		},
	}
}
