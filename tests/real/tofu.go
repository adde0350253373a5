package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// openTofu is the measure: it has the same provider binary by `dev_overrides`.
type openTofu struct {
	side      *side
	program   string
	directory string
}

func newOpenTofu(at places, side *side) *openTofu {
	return &openTofu{side: side, program: filepath.Join(at.tools, "tofu"), directory: filepath.Join(side.directory, "project")}
}

func (tofu *openTofu) template() string { return "main.tf" }

func (tofu *openTofu) write(program string) error {
	if err := os.MkdirAll(tofu.directory, 0o700); err != nil {
		return err
	}
	settings := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"isthmus/%s\" = %q\n  }\n  direct {}\n}\n",
		tofu.side.journey.Provider, filepath.Join(tofu.side.directory, "providers"))
	if err := os.WriteFile(filepath.Join(tofu.directory, "tofu.tfrc"), []byte(settings), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(tofu.directory, "main.tf"), []byte(program), 0o600)
}

func (tofu *openTofu) run(ctx context.Context, words ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, tofu.program, words...)
	command.Dir = tofu.directory
	command.Env = []string{
		"PATH=/usr/bin:/bin", "CHECKPOINT_DISABLE=1", "HOME=" + tofu.directory, "TMPDIR=" + os.TempDir(),
		"TF_CLI_CONFIG_FILE=" + filepath.Join(tofu.directory, "tofu.tfrc"),
	}
	return output(command)
}

func (tofu *openTofu) schemas(ctx context.Context) (schemas, error) {
	program, err := tofu.side.program(0)
	if err != nil {
		return nil, err
	}
	if err := tofu.write(program); err != nil {
		return nil, err
	}
	text, err := tofu.run(ctx, "providers", "schema", "-json")
	if err != nil {
		return nil, err
	}
	var shown struct {
		Providers map[string]struct {
			Resources map[string]struct{ Block block } `json:"resource_schemas"`
		} `json:"provider_schemas"`
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return nil, err
	}
	all := schemas{}
	for _, provider := range shown.Providers {
		for kind, schema := range provider.Resources {
			all[kind] = schema.Block
		}
	}
	return all, nil
}

func (tofu *openTofu) plan(ctx context.Context, refresh bool) (map[string]string, error) {
	if _, err := tofu.run(ctx, "plan", "-input=false", "-no-color", "-out=plan", fmt.Sprintf("-refresh=%t", refresh)); err != nil {
		return nil, err
	}
	text, err := tofu.run(ctx, "show", "-json", "plan")
	if err != nil {
		return nil, err
	}
	var shown struct {
		Changes []struct {
			Type, Name string
			Change     struct{ Actions []string }
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return nil, err
	}
	plan := map[string]string{}
	for _, change := range shown.Changes {
		actions := strings.Join(change.Change.Actions, " ")
		switch actions {
		case "no-op":
			actions = "same"
		case "delete create", "create delete":
			actions = "replace"
		}
		plan[change.Name] = actions
	}
	return plan, nil
}

// apply carries out the plan that was made last.
func (tofu *openTofu) apply(ctx context.Context, _ bool) error {
	_, err := tofu.run(ctx, "apply", "-input=false", "-no-color", "plan")
	return err
}

func (tofu *openTofu) refresh(ctx context.Context) error {
	_, err := tofu.run(ctx, "apply", "-input=false", "-no-color", "-auto-approve", "-refresh-only")
	return err
}

func (tofu *openTofu) forget(context.Context) error {
	return os.Rename(filepath.Join(tofu.directory, "terraform.tfstate"), filepath.Join(tofu.directory, "before-import.tfstate"))
}

func (tofu *openTofu) adopt(ctx context.Context, resources []resource) error {
	for _, resource := range resources {
		if _, err := tofu.run(ctx, "import", "-input=false", "-no-color", resource.kind+"."+resource.name, resource.id); err != nil {
			return err
		}
	}
	return nil
}

func (tofu *openTofu) destroy(ctx context.Context) error {
	_, err := tofu.run(ctx, "destroy", "-input=false", "-no-color", "-auto-approve")
	return err
}

func (tofu *openTofu) state(ctx context.Context) ([]resource, error) {
	text, err := tofu.run(ctx, "show", "-json")
	if err != nil {
		return nil, err
	}
	var shown struct {
		Values struct {
			Module struct {
				Resources []struct {
					Mode, Type, Name string
					Values           map[string]any
					Sensitive        any `json:"sensitive_values"`
				}
			} `json:"root_module"`
		}
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return nil, err
	}
	var all []resource
	for _, entry := range shown.Values.Module.Resources {
		if entry.Mode != "managed" {
			continue
		}
		form := form{own: true}
		made := resource{kind: entry.Type, name: entry.Name, attributes: form.block(entry.Values, tofu.side.schemas[entry.Type], "")}
		made.id, _ = entry.Values["id"].(string)
		made.strange, made.secret = form.strange, map[string]bool{}
		sensitive(entry.Sensitive, entry.Values, "", made.secret)
		all = append(all, made)
	}
	return all, nil
}

// sensitive collects the paths of what is sensitive and there.
func sensitive(marks, value any, path string, into map[string]bool) {
	switch marks := marks.(type) {
	case bool:
		if marks && value != nil {
			into[path] = true
		}
	case map[string]any:
		inner, _ := value.(map[string]any)
		for name, mark := range marks {
			sensitive(mark, inner[name], join(path, name), into)
		}
	case []any:
		inner, _ := value.([]any)
		for index, mark := range marks {
			if index < len(inner) {
				sensitive(mark, inner[index], path+"[]", into)
			}
		}
	}
}

// output runs a command, whose error has what it has printed.
func output(command *exec.Cmd) ([]byte, error) {
	var printed, said strings.Builder
	command.Stdout, command.Stderr = &printed, &said
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s\n%s", strings.Join(command.Args, " "), err, tail(printed.String()), tail(said.String()))
	}
	return []byte(printed.String()), nil
}
