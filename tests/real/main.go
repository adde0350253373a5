// Takes the same resources through the same steps on a real server, once by Pulumi and isthmus, once by OpenTofu, each on a
// fresh server of its own, and compares after each step: what each planned, the state that each has of each resource, and what
// the server itself has. See `run` beside this file.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Journey is what `NAME/journey.json` says: what the steps and the comparison need to know of a server and its provider.
type Journey struct {
	// Provider is the name of the provider, of its binary and of its Pulumi package.
	Provider string
	// Server and Version name both in the results.
	Server, Version string
	// Tools are built by tests/tools/build.
	Tools []string
	// Import has, for a type, the id that it is imported by, with its attributes in braces; else it is `{id}`.
	Import map[string]string
	// Generated are patterns of what server or provider make up, besides UUIDs, digests and times.
	Generated []string
	// Counters are attributes whose values depend on what else a server has done: each side must have one.
	Counters []string
	// Known are differences that are meant to be: a part of the line that reports one, with the reason.
	Known map[string]string

	name, directory string
}

// The directories that a run needs.
type places struct{ root, tools, isthmus string }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	good, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests/real/run:", err)
	}
	if err != nil || !good {
		stop()
		os.Exit(1)
	}
}

// run [--keep] RESULT ISTHMUS TOOLS JOURNEY...: RESULT is a file for the results.
func run(ctx context.Context, words []string) (bool, error) {
	keep := words[0] == "--keep"
	if keep {
		words = words[1:]
	}
	at := places{tools: words[2], isthmus: words[1]}
	var err error
	if at.root, err = os.Getwd(); err != nil {
		return false, err
	}
	good := true
	var rows, details []string
	for _, name := range words[3:] {
		journey, err := load(filepath.Join(at.root, "tests/real", name))
		if err != nil {
			return false, err
		}
		began := time.Now()
		made, err := travel(ctx, at, journey, keep)
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		good = good && len(made.differences) == 0
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %d | %d | %d | %d | %d | %d |", journey.Server, journey.Version,
			strings.Join(made.types, ", "), made.steps, made.decisions, made.attributes, made.views, len(made.differences),
			int(time.Since(began).Seconds())))
		details = append(details, detail(journey, made))
		fmt.Println(rows[len(rows)-1])
	}
	head := "| server | provider | resource types | steps | decisions | attributes | values of the server | different | seconds |"
	text := head + "\n|" + strings.Repeat("---|", strings.Count(head, "|")-1) + "\n" + strings.Join(rows, "\n") + "\n\n" +
		strings.Join(details, "\n")
	return good, os.WriteFile(words[0], []byte(text), 0o644)
}

func load(directory string) (*Journey, error) {
	text, err := os.ReadFile(filepath.Join(directory, "journey.json"))
	if err != nil {
		return nil, err
	}
	journey := &Journey{name: filepath.Base(directory), directory: directory}
	if err := json.Unmarshal(text, journey); err != nil {
		return nil, fmt.Errorf("%s/journey.json: %w", directory, err)
	}
	return journey, nil
}

// detail lists a journey's steps and differences.
func detail(journey *Journey, made *outcome) string {
	var text strings.Builder
	fmt.Fprintf(&text, "## %s\n\n| step | planned by both | attributes | values of the server | different |\n|---|---|---|---|---|\n", journey.Server)
	for _, step := range made.log {
		fmt.Fprintln(&text, step)
	}
	for _, line := range made.known {
		fmt.Fprintf(&text, "\nMeant: %s\n", line)
	}
	for _, line := range made.differences {
		fmt.Fprintf(&text, "\nDifferent: %s\n", line)
	}
	return text.String()
}
