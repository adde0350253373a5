package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/template"
	"time"
)

// A side is one of the two engines, with a server of its own.
type side struct {
	engine
	name      string
	directory string
	// What the server has printed, for programs and scripts; and what differs between the two sides for no reason but that
	// they are two.
	variables map[string]string
	own       *strings.Replacer
	schemas   schemas
	journey   *Journey
	stop      func()
}

// An engine takes a program through its life.
type engine interface {
	// write makes this the program, from the template of its language.
	write(program string) error
	// plan returns what is to happen to each resource, by its name; refresh says whether the server is looked at first.
	plan(ctx context.Context, refresh bool) (map[string]string, error)
	apply(ctx context.Context, refresh bool) error
	refresh(ctx context.Context) error
	// forget makes a fresh state, and adopt imports into it.
	forget(ctx context.Context) error
	adopt(ctx context.Context, resources []resource) error
	destroy(ctx context.Context) error
	// state returns all resources, as the provider's schema has them.
	state(ctx context.Context) ([]resource, error)
	template() string
}

// A resource in the state of an engine, in the form of the provider's schema.
type resource struct {
	kind, name, id string
	attributes     map[string]any
	// The paths of attributes that are secret.
	secret map[string]bool
	// What could not be brought into that form.
	strange []string
}

type outcome struct {
	types                               []string
	steps, decisions, attributes, views int
	known, differences, log             []string
}

// A step of the journey.
type step struct {
	name string
	// Whether the server's objects are changed by its own client before.
	drift bool
	// Whether the engine looks at the server before it plans.
	look bool
	// What the plan must have for some resource.
	expect string
	// Does all but plan and apply.
	instead func(context.Context, *side) error
}

var steps = []step{
	{name: "create", expect: "create"},
	{name: "nothing", look: true, expect: "same"},
	{name: "update", expect: "update"},
	{name: "replace", expect: "replace"},
	{name: "drift", drift: true, look: true, expect: "update"},
	{name: "refresh", drift: true, instead: func(ctx context.Context, side *side) error { return side.refresh(ctx) }},
	{name: "after refresh", expect: "update"},
	{name: "import", instead: importAll},
	{name: "after import"},
	{name: "moved", expect: "same"},
	{name: "destroy", instead: func(ctx context.Context, side *side) error { return side.destroy(ctx) }},
}

// travel takes a journey, and leaves nothing of it.
func travel(ctx context.Context, at places, journey *Journey, keep bool) (_ *outcome, err error) {
	scratch, err := os.MkdirTemp("", "isthmus-real-")
	if err != nil {
		return nil, err
	}
	if keep {
		fmt.Fprintln(os.Stderr, scratch, "stays")
	} else {
		defer os.RemoveAll(scratch)
	}
	sides := []*side{{name: "opentofu", journey: journey}, {name: "isthmus", journey: journey}}
	defer func() {
		_ = both(sides, func(side *side) error {
			if side.stop != nil {
				side.stop()
			}
			return nil
		})
	}()
	if err := both(sides, func(side *side) error { return side.begin(ctx, at, scratch) }); err != nil {
		return nil, err
	}
	schemas, err := sides[0].engine.(*openTofu).schemas(ctx)
	if err != nil {
		return nil, err
	}
	sides[0].schemas, sides[1].schemas = schemas, schemas
	empty, err := views(ctx, sides)
	if err != nil {
		return nil, err
	}
	made, compare := &outcome{steps: len(steps)}, newComparison(journey)
	types, needed := map[string]bool{}, map[string]bool{}
	for index, step := range steps {
		plans := make([]map[string]string, 2)
		states := make([][]resource, 2)
		err := both(sides, func(side *side) error {
			which := slices.Index(sides, side)
			var err error
			plans[which], states[which], err = side.take(ctx, step, index)
			return err
		})
		if err != nil {
			return nil, err
		}
		seen, err := views(ctx, sides)
		if err != nil {
			return nil, err
		}
		before := len(made.differences)
		note := func(format string, arguments ...any) {
			line := step.name + ": " + fmt.Sprintf(format, arguments...)
			for part, reason := range journey.Known {
				if strings.Contains(line, part) {
					needed[part] = true
					made.known = append(made.known, line+" ("+reason+")")
					return
				}
			}
			made.differences = append(made.differences, line)
			fmt.Fprintln(os.Stderr, journey.name+": "+line)
		}
		decided := compare.plans(plans, step, note)
		attributes := compare.states(sides, states, note)
		values := compare.values("server", sides[0].common(seen[0]), sides[1].common(seen[1]), note)
		for _, resource := range states[0] {
			types[resource.kind] = true
		}
		if index == 0 && fmt.Sprint(seen) == fmt.Sprint(empty) {
			note("the server has nothing new")
		}
		if index == len(steps)-1 && fmt.Sprint(seen) != fmt.Sprint(empty) {
			note("the server has %v, before the first step %v", seen, empty)
		}
		made.decisions += decided
		made.attributes += attributes
		made.views += values
		made.log = append(made.log, fmt.Sprintf("| %s | %s | %d | %d | %d |", step.name, summary(plans[0]), attributes, values,
			len(made.differences)-before))
	}
	for part := range journey.Known {
		if !needed[part] {
			made.differences = append(made.differences, "journey.json has as known what does not differ: "+part)
		}
	}
	made.types = slices.Sorted(maps.Keys(types))
	return made, nil
}

// take takes one step: what was planned, and the state afterwards.
func (side *side) take(ctx context.Context, step step, index int) (map[string]string, []resource, error) {
	fail := func(err error) error { return fmt.Errorf("%s: %s: %w", side.name, step.name, err) }
	if step.drift {
		if err := side.script(ctx, "drift", nil); err != nil {
			return nil, nil, fail(err)
		}
	}
	program, err := side.program(index)
	if err == nil {
		err = side.write(program)
	}
	if err != nil {
		return nil, nil, fail(err)
	}
	var plan map[string]string
	if step.instead != nil {
		err = step.instead(ctx, side)
	} else if plan, err = side.plan(ctx, step.look); err == nil {
		err = side.apply(ctx, step.look)
	}
	if err != nil {
		return nil, nil, fail(err)
	}
	state, err := side.state(ctx)
	if err != nil {
		return nil, nil, fail(err)
	}
	slices.SortFunc(state, func(a, b resource) int { return strings.Compare(a.kind+" "+a.name, b.kind+" "+b.name) })
	return plan, state, nil
}

// program is the program at a step: its template knows which steps have been taken.
func (side *side) program(index int) (string, error) {
	file := filepath.Join(side.journey.directory, side.template())
	known := map[string]any{}
	for name, value := range side.variables {
		known[name] = value
	}
	for at, step := range steps {
		known[step.name] = at <= index
	}
	parsed, err := template.New(side.template()).Option("missingkey=error").ParseFiles(file)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	err = parsed.Execute(&text, known)
	return text.String(), err
}

// importAll forgets everything, and imports what can be.
func importAll(ctx context.Context, side *side) error {
	state, err := side.state(ctx)
	if err != nil {
		return err
	}
	for index, resource := range state {
		form := side.journey.Import[resource.kind]
		if form == "" {
			form = "{id}"
		}
		for name, value := range resource.attributes {
			form = strings.ReplaceAll(form, "{"+name+"}", fmt.Sprint(value))
		}
		state[index].id = form
	}
	if err := side.forget(ctx); err != nil {
		return err
	}
	return side.adopt(ctx, state)
}

// begin starts the server, and makes an empty project.
func (side *side) begin(ctx context.Context, at places, scratch string) error {
	side.directory = filepath.Join(scratch, side.name)
	providers := filepath.Join(side.directory, "providers")
	if err := os.MkdirAll(providers, 0o700); err != nil {
		return err
	}
	binary := "terraform-provider-" + side.journey.Provider
	if err := os.Symlink(filepath.Join(at.tools, binary), filepath.Join(providers, binary)); err != nil {
		return err
	}
	if err := side.serve(ctx, at); err != nil {
		return fmt.Errorf("the server for %s: %w", side.name, err)
	}
	if side.name == "opentofu" {
		side.engine = newOpenTofu(at, side)
		return nil
	}
	pulumi, err := newPulumi(ctx, at, side)
	side.engine = pulumi
	return err
}

// serve starts the server, which ends when its standard input does.
func (side *side) serve(ctx context.Context, at places) error {
	directory := filepath.Join(side.directory, "server")
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	var ports, replaced []string
	var listeners []net.Listener
	for range 3 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		listeners = append(listeners, listener)
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		replaced = append(replaced, port, fmt.Sprintf("PORT%d", len(ports)+1))
		ports = append(ports, port)
	}
	for _, listener := range listeners {
		listener.Close()
	}
	side.own = strings.NewReplacer(append(replaced, side.directory, "DIRECTORY")...)
	command := exec.Command(filepath.Join(side.journey.directory, "serve"), ports...)
	command.Dir = directory
	command.Env = append(os.Environ(), "TOOLS="+at.tools, "INSTALLED="+filepath.Join(at.tools, "server-"+side.journey.name))
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.Create(filepath.Join(directory, "serve.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command.Stderr = log
	input, err := command.StdinPipe()
	if err != nil {
		return err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	side.stop = func() {
		input.Close()
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
		}
		// The group is this server's own; it is gone by now, unless something in it does not end.
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	printed := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(output)
		printed <- string(text)
		_ = command.Wait()
		close(ended)
	}()
	select {
	case text := <-printed:
		side.variables = map[string]string{}
		for line := range strings.Lines(text) {
			if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
				side.variables[name] = value
			}
		}
		if len(side.variables) == 0 {
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("it did not start: %s", tail(string(said)))
		}
		return nil
	case <-time.After(3 * time.Minute):
		return fmt.Errorf("it is not ready after three minutes")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// script runs a script of the journey with what the server has printed in its environment.
func (side *side) script(ctx context.Context, name string, into any) error {
	command := exec.CommandContext(ctx, filepath.Join(side.journey.directory, name))
	command.Dir = filepath.Join(side.directory, "server")
	command.Env = os.Environ()
	for name, value := range side.variables {
		command.Env = append(command.Env, name+"="+value)
	}
	output, err := command.Output()
	if err != nil {
		said := ""
		if exit, ok := err.(*exec.ExitError); ok {
			said = tail(string(exit.Stderr))
		}
		return fmt.Errorf("%s/%s: %w: %s", side.journey.name, name, err, said)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(output, into); err != nil {
		return fmt.Errorf("%s/%s does not print JSON: %w: %s", side.journey.name, name, err, tail(string(output)))
	}
	return nil
}

// views are what the servers have.
func views(ctx context.Context, sides []*side) ([]any, error) {
	seen := make([]any, 2)
	err := both(sides, func(side *side) error { return side.script(ctx, "view", &seen[slices.Index(sides, side)]) })
	return seen, err
}

// both does the same on both sides at once.
func both(sides []*side, do func(*side) error) error {
	failed := make(chan error, len(sides))
	for _, side := range sides {
		go func() { failed <- do(side) }()
	}
	var first error
	for range sides {
		if err := <-failed; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func tail(text string) string {
	const most = 4000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}
