package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/cmd/internal/config"
	"cmem/cmd/internal/worker"
	"cmem/ingest/home"
	"cmem/ingest/host"
	"cmem/streams/durable"
)

// stdio is where a command reads and writes.
type stdio struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// app is what the commands share: the flags of the root and where to write.
type app struct {
	stdio
	environ []string
	data    string
	json    bool
	verbose bool

	zoneSetting *string // read once
}

// execute runs one command line and gives its exit code.
func execute(ctx context.Context, args []string, s stdio, environ []string) int {
	out := &output{w: s.out}
	s.out = out
	a := &app{stdio: s, environ: environ}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetErr(s.err)
	err := out.judge(root.ExecuteContext(ctx))
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	if code != exitReader {
		fmt.Fprintln(s.err, "cmem: "+oneLine(err))
	}
	if !out.begun && (a.json || asksJSON(args)) {
		_ = a.print(a.failure(err, code)) // that it could not be written is told already
	}
	return code
}

// oneLine is an error as one line, without the stack that a panic may have
// brought along.
func oneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\ngoroutine ")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\n", "; ")), " ")
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "cmem",
		Short: "Durable memory for coding agents",
		Long: "cmem keeps what happened in sessions with coding agents, makes it searchable,\n" +
			"and tells the next session what it should know.",
		Version:       versionLine(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			return usageError{errors.New("give a command; see cmem --help")}
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := root.PersistentFlags()
	f.StringVar(&a.data, "data", "", "data folder (default $CMEM_DATA_DIR, else ~/.cmem)")
	f.BoolVar(&a.json, "json", false, "answer in JSON")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "tell more on standard error")
	root.AddCommand(
		a.newServe(), a.newStart(), a.newStop(), a.newStatus(), a.newReplay(), a.newRebuild(),
		a.newSearch(), a.newTimeline(), a.newShow(), a.newContext(), a.newLog(), a.newSpool(),
		a.newSave(), a.newProject(), a.newConfig(), a.newDoctor(), a.newRepair(), a.newVersion(), newHook(),
	)
	root.SetOut(a.out) // here, since completion remembers it
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		strict(c)
	}
	root.SetHelpCommand(newHelp())
	root.AddCommand(newExitCodes())
	return root
}

// strict makes mistakes in arguments usage errors.
func strict(c *cobra.Command) {
	for _, sub := range c.Commands() {
		strict(sub)
	}
	check := c.Args
	if check == nil {
		check = cobra.NoArgs
	}
	if c.HasSubCommands() {
		check = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%s has no command %q", c.CommandPath(), args[0])
			}
			return fmt.Errorf("%s needs a command; see %s --help", c.CommandPath(), c.CommandPath())
		}
		c.RunE = func(*cobra.Command, []string) error { return nil }
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := errors.Join(check(c, args), emptyFlags(c)); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// emptyFlags: a flag that is given without a value is a variable that was not
// set, and must not mean everything, or the folder in the home.
func emptyFlags(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && f.Value.String() == "" {
			err = fmt.Errorf("--%s is empty: is a variable not set?", f.Name)
		}
	})
	return err
}

func noCommand(words []string) error {
	return usageError{fmt.Errorf("there is no command %q; see cmem --help", strings.Join(words, " "))}
}

// newHelp is cobra's help, except that a topic nobody knows is a mistake.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (names []cobra.Completion, d cobra.ShellCompDirective) {
			if topic, _, err := c.Root().Find(args); err == nil {
				for _, sub := range topic.Commands() {
					if sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			topic, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 || topic == nil {
				return noCommand(args)
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

// getenv looks a variable up.
func (a *app) getenv(key string) string {
	v, _ := a.lookupenv(key)
	return v
}

func (a *app) home() (home.Dir, error) {
	d, err := home.Resolve(a.data, a.getenv)
	if err != nil {
		return "", usageError{err}
	}
	return d, nil
}

// settings reads the configuration; what is unknown in it is told once.
func (a *app) settings(dir home.Dir) (config.Config, error) {
	cfg, notices, err := config.Load(dir.Config(), a.environ)
	for _, n := range notices {
		fmt.Fprintln(a.err, "cmem: "+n.String())
	}
	for _, u := range cfg.Unusable[min(1, len(cfg.Unusable)):] {
		fmt.Fprintln(a.err, "cmem: "+u.Error()) // the first one is err
	}
	return cfg, err
}

// logger is for commands that work in process. Their user is told by their answer;
// what is behind it goes where a worker's goes, or with -v to standard error.
func (a *app) logger(dir home.Dir) *slog.Logger {
	var w io.Writer = &lateFile{path: workerLog(dir)}
	level := slog.LevelWarn
	if a.verbose {
		w, level = a.err, slog.LevelDebug
	}
	log.SetOutput(w) // some libraries know no other
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// lateFile is opened for each write: there are few, and none at all makes no
// file. Where it cannot be opened there is nobody to tell.
type lateFile struct{ path string }

// Write appends p.
func (l *lateFile) Write(p []byte) (int, error) {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(p)
	return n, errors.Join(err, f.Close())
}

// connect gives the API of the running worker or, where none runs, of a node in
// this process.
func (a *app) connect(ctx context.Context) (*client.Client, error) {
	dir, err := a.home()
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(ctx, dir)
	if !errors.Is(err, client.ErrNoWorker) {
		return c, err
	}
	cfg, err := a.settings(dir)
	if err != nil {
		return nil, err
	}
	node, err := worker.Open(ctx, dir, cfg, a.logger(dir))
	if err == nil {
		return client.InProcess(node.Handler(), node.Close), nil
	}
	if errors.Is(err, durable.ErrLocked) {
		// A worker may have come up meanwhile.
		if c, again := client.Dial(ctx, dir); again == nil {
			return c, nil
		}
	}
	return nil, err
}

// with runs f over the API and closes it.
func (a *app) with(ctx context.Context, f func(*client.Client) error) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close())
}

// print writes v as JSON, indented.
func (a *app) print(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, string(b))
	return err
}

// say writes a line for people.
// That it could not be written, the output knows.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.out, format+"\n", args...)
}

// text writes a text answer, which arrives in the shape that MCP tools expect.
func (a *app) text(ctx context.Context, c *client.Client, route string, q url.Values) error {
	var answer struct {
		Content []struct{ Text string } `json:"content"`
	}
	if err := c.Get(ctx, route, q, &answer); err != nil {
		return err
	}
	for _, part := range answer.Content {
		a.say("%s", strings.TrimRight(part.Text, "\n"))
	}
	return nil
}

// relay writes a JSON answer on as it came, indented.
func (a *app) relay(ctx context.Context, c *client.Client, route string, q url.Values) error {
	var answer json.RawMessage
	if err := c.Get(ctx, route, q, &answer); err != nil {
		return err
	}
	return a.print(answer)
}

// knownHost: a host nobody knows would find nothing and not say why.
func knownHost(name string) error {
	if name == "" || slices.Contains(api.HostNames(), strings.ToLower(strings.TrimSpace(name))) {
		return nil
	}
	return usageError{fmt.Errorf("no host is called %q: give one of %s", name, strings.Join(host.Names(), ", "))}
}

// counted writes a number with its noun: "1 file", "2 files".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// terminal says whether out is one that a person looks at.
func terminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
