// Runs the shell script beside this program, on Windows, which starts no scripts: `pulumi.exe` runs `pulumi`.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

func main() {
	status, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(126)
	}
	os.Exit(status)
}

// The exit status of the script, or why it did not run.
func run() (int, error) {
	own, err := os.Executable()
	if err != nil {
		return 0, err
	}
	path := strings.TrimSuffix(own, ".exe")
	// At once: a file that is open cannot be replaced on Windows, and a script may run for long.
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	script, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(bytes.NewReader(text), path)
	if err != nil {
		return 0, err
	}
	arguments := interp.Params(append([]string{"--"}, os.Args[1:]...)...)
	runner, err := interp.New(interp.StdIO(os.Stdin, os.Stdout, os.Stderr), interp.ExecHandlers(missing), arguments)
	if err != nil {
		return 0, err
	}
	err = runner.Run(context.Background(), script)
	var status interp.ExitStatus
	if errors.As(err, &status) {
		return int(status), nil
	}
	return 0, err
}

// The programs that scripts of tests use and Windows has not.
func missing(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, arguments []string) error {
		shell := interp.HandlerCtx(ctx)
		switch arguments[0] {
		case "env":
			shell.Env.Each(func(name string, variable expand.Variable) bool {
				if variable.Exported {
					fmt.Fprintf(shell.Stdout, "%s=%s\n", name, variable.String())
				}
				return true
			})
			return nil
		case "mkdir":
			if os.Mkdir(arguments[1], 0o777) != nil {
				return interp.ExitStatus(1)
			}
			return nil
		case "touch":
			file, err := os.OpenFile(arguments[1], os.O_CREATE|os.O_WRONLY, 0o666)
			if err != nil {
				return interp.ExitStatus(1)
			}
			return file.Close()
		case "sleep":
			seconds, err := strconv.Atoi(arguments[1])
			time.Sleep(time.Duration(seconds) * time.Second)
			return err
		}
		return next(ctx, arguments)
	}
}
