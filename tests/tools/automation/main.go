// Works on a stack by the Automation API, as a program of a user does:
//
//	automation preview DIRECTORY STACK          previews the project in a directory
//	automation play DIRECTORY STACK FILE [up]   plays what a language host registers, by a file of it; prints the steps as JSON
//
// The latter stands in for a language host that cannot be installed here: what it registers is known.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, words []string) error {
	if words[0] == "preview" {
		return preview(ctx, words[1], words[2])
	}
	return play(ctx, words[1], words[2], words[3], len(words) > 4)
}

func preview(ctx context.Context, directory, name string) error {
	stack, err := auto.SelectStackLocalSource(ctx, name, directory)
	if err != nil {
		return err
	}
	_, err = stack.Preview(ctx, optpreview.ProgressStreams(os.Stdout), optpreview.ErrorProgressStreams(os.Stderr))
	return err
}

// A package of a parameterized plugin.
type pack struct {
	Plugin, PluginVersion, Version string
	Value                          []byte
}

// What a language host registers.
type registration struct {
	Type, Name string
	// The name of the component that it is in.
	Parent      string
	IsComponent bool
	// The name of its package; the provider is the default one, or that of a name.
	Package, Provider string
	Properties        map[string]any
	// The names of properties that are secret.
	Secret []string
}

type program struct {
	Project   string
	Packages  map[string]pack
	Resources []registration
}

func play(ctx context.Context, directory, name, file string, up bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var played program
	if err := json.Unmarshal(text, &played); err != nil {
		return err
	}
	project := workspace.Project{
		Name:    tokens.PackageName(played.Project),
		Runtime: workspace.NewProjectRuntimeInfo("go", nil),
	}
	stack, err := auto.SelectStackInlineSource(ctx, name, played.Project, played.register,
		auto.WorkDir(directory), auto.Project(project))
	if err != nil {
		return err
	}
	if up {
		result, err := stack.Up(ctx, optup.ErrorProgressStreams(os.Stderr))
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(result.Summary.ResourceChanges)
	}
	result, err := stack.Preview(ctx, optpreview.Diff(), optpreview.ProgressStreams(os.Stderr), optpreview.ErrorProgressStreams(os.Stderr))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result.ChangeSummary)
}

func (played program) register(ctx *pulumi.Context) error {
	references := map[string]string{}
	for name, pack := range played.Packages {
		response, err := ctx.RegisterPackage(&pulumirpc.RegisterPackageRequest{
			Name:    pack.Plugin,
			Version: pack.PluginVersion,
			Parameterization: &pulumirpc.Parameterization{
				Name:    name,
				Version: pack.Version,
				Value:   pack.Value,
			},
		})
		if err != nil {
			return err
		}
		references[name] = response.Ref
	}
	components := map[string]pulumi.Resource{}
	providers := map[string]pulumi.ProviderResource{}
	for _, one := range played.Resources {
		options := []pulumi.ResourceOption{}
		if one.Parent != "" {
			options = append(options, pulumi.Parent(components[one.Parent]))
		}
		if one.Provider != "" {
			options = append(options, pulumi.Provider(providers[one.Provider]))
		}
		properties := pulumi.Map{}
		for key, value := range one.Properties {
			properties[key] = pulumi.Any(value)
			if slices.Contains(one.Secret, key) {
				properties[key] = pulumi.ToSecret(value)
			}
		}
		reference := references[one.Package]
		var err error
		switch {
		case one.IsComponent:
			component := &pulumi.ResourceState{}
			components[one.Name] = component
			err = ctx.RegisterComponentResource(one.Type, one.Name, component, options...)
		case one.Type == "pulumi:providers:"+one.Package:
			provider := &pulumi.ProviderResourceState{}
			providers[one.Name] = provider
			err = ctx.RegisterPackageResource(one.Type, one.Name, properties, provider, reference, options...)
		default:
			err = ctx.RegisterPackageResource(one.Type, one.Name, properties, &pulumi.CustomResourceState{}, reference, options...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
	}
	return nil
}
