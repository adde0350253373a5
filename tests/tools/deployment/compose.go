package main

import (
	"context"
	"path/filepath"

	"github.com/compose-spec/compose-go/v2/cli"
)

// compose loads a file as `docker compose` and `podman compose` do: by the schema, with includes, variables and references resolved.
func compose(file string) (any, faults) {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithWorkingDirectory(filepath.Dir(file)), cli.WithName("isthmus"),
		cli.WithConsistency(true), cli.WithInterpolation(true), cli.WithResolvedPaths(true), cli.WithNormalization(true))
	if err != nil {
		return nil, faults{err.Error()}
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, faults{err.Error()}
	}
	return project, nil
}
