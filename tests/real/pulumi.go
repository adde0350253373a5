package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// The plugin and its version, as packages name it.
	plugin, pluginVersion = "terraform-provider", "1.4.0"
	// The mark of a secret in a stack.
	signature, secretSignature = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"
)

// pulumi is the Pulumi CLI with isthmus for its plugin, and the provider binary as a package on disk.
type pulumi struct {
	side               *side
	program, directory string
	parameter          string
	commands           int
}

func newPulumi(ctx context.Context, at places, side *side) (*pulumi, error) {
	engine := &pulumi{side: side, program: filepath.Join(at.tools, "pulumi"), directory: filepath.Join(side.directory, "project")}
	name := side.journey.Provider
	sdk := filepath.Join(engine.directory, "sdks", name)
	installed := filepath.Join(side.directory, "home/plugins/resource-"+plugin+"-v"+pluginVersion)
	for _, directory := range []string{sdk, installed, filepath.Join(side.directory, "backend")} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			return nil, err
		}
	}
	if err := os.Symlink(at.isthmus, filepath.Join(installed, "pulumi-resource-"+plugin)); err != nil {
		return nil, err
	}
	binary := filepath.Join(side.directory, "providers/terraform-provider-"+name)
	engine.parameter = base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"local":{"path":%q}}`, binary))
	// As `pulumi package add` writes it.
	declaration := fmt.Sprintf("packageDeclarationVersion: 1\nname: %s\nversion: %s\nparameterization:\n  name: %s\n  version: 0.0.0\n  value: %s\n",
		plugin, pluginVersion, name, engine.parameter)
	if err := os.WriteFile(filepath.Join(sdk, name+"-0.0.0.yaml"), []byte(declaration), 0o600); err != nil {
		return nil, err
	}
	if err := engine.write("name: real\nruntime: yaml\n"); err != nil {
		return nil, err
	}
	_, err := engine.run(ctx, "stack", "init", "dev")
	return engine, err
}

func (pulumi *pulumi) template() string { return "Pulumi.yaml" }

func (pulumi *pulumi) write(program string) error {
	return os.WriteFile(filepath.Join(pulumi.directory, "Pulumi.yaml"), []byte(program), 0o600)
}

func (pulumi *pulumi) run(ctx context.Context, words ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, pulumi.program, words...)
	command.Dir = pulumi.directory
	home := filepath.Join(pulumi.side.directory, "home")
	command.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=" + home, "PULUMI_HOME=" + home, "TMPDIR=" + os.TempDir(), "NO_COLOR=1",
		"PULUMI_BACKEND_URL=file://" + filepath.Join(pulumi.side.directory, "backend"), "PULUMI_CONFIG_PASSPHRASE=correct horse",
		// Without it there is no `--event-log`.
		"PULUMI_DEBUG_COMMANDS=true",
		"ISTHMUS_OFFLINE=true", "PULUMI_SKIP_UPDATE_CHECK=true", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true",
		"PULUMI_DISABLE_REGISTRY_RESOLVE=true", "PULUMI_SKIP_CONFIRMATIONS=true",
	}
	return output(command)
}

// plan returns the last of the steps that a preview has of each resource.
func (pulumi *pulumi) plan(ctx context.Context, refresh bool) (map[string]string, error) {
	pulumi.commands++
	log := filepath.Join(pulumi.side.directory, fmt.Sprintf("events-%d", pulumi.commands))
	if _, err := pulumi.run(ctx, "preview", "--event-log", log, fmt.Sprintf("--refresh=%t", refresh)); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return nil, err
	}
	plan := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var event struct {
			Pre struct {
				Metadata struct{ Op, URN, Type string }
			} `json:"resourcePreEvent"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, err
		}
		step := event.Pre.Metadata
		if step.Op == "" || step.Op == "refresh" || strings.HasPrefix(step.Type, "pulumi:") {
			continue
		}
		name := step.URN[strings.LastIndex(step.URN, "::")+2:]
		switch step.Op {
		case "create-replacement", "delete-replaced":
			step.Op = "replace"
		}
		plan[name] = step.Op
	}
	return plan, lines.Err()
}

func (pulumi *pulumi) apply(ctx context.Context, refresh bool) error {
	_, err := pulumi.run(ctx, "up", "--yes", "--skip-preview", fmt.Sprintf("--refresh=%t", refresh))
	return err
}

func (pulumi *pulumi) refresh(ctx context.Context) error {
	_, err := pulumi.run(ctx, "refresh", "--yes", "--skip-preview")
	return err
}

func (pulumi *pulumi) forget(ctx context.Context) error {
	if _, err := pulumi.run(ctx, "stack", "rm", "--yes", "--force", "dev"); err != nil {
		return err
	}
	_, err := pulumi.run(ctx, "stack", "init", "dev")
	return err
}

func (pulumi *pulumi) adopt(ctx context.Context, resources []resource) error {
	var entries []any
	for _, resource := range resources {
		entries = append(entries, map[string]any{
			"type": pulumi.token(resource.kind), "name": resource.name, "id": resource.id, "version": "0.0.0",
			"parameterization": map[string]any{"pluginName": plugin, "pluginVersion": pluginVersion, "value": pulumi.parameter},
		})
	}
	text, err := json.Marshal(map[string]any{"resources": entries})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(pulumi.directory, "import.json"), text, 0o600); err != nil {
		return err
	}
	_, err = pulumi.run(ctx, "import", "--yes", "--skip-preview", "--protect=false", "--file", "import.json", "--out", "generated.yaml")
	return err
}

// token is the Pulumi type of a resource type.
func (pulumi *pulumi) token(kind string) string {
	name := pulumi.name(kind)
	return fmt.Sprintf("%s:index/%s:%s", pulumi.side.journey.Provider, name, strings.ToUpper(name[:1])+name[1:])
}

func (pulumi *pulumi) name(kind string) string {
	return camel(strings.TrimPrefix(kind, pulumi.side.journey.Provider+"_"))
}

func (pulumi *pulumi) destroy(ctx context.Context) error {
	_, err := pulumi.run(ctx, "destroy", "--yes", "--skip-preview")
	return err
}

func (pulumi *pulumi) state(ctx context.Context) ([]resource, error) {
	text, err := pulumi.run(ctx, "stack", "export", "--show-secrets")
	if err != nil {
		return nil, err
	}
	var stack struct {
		Deployment struct {
			Resources []struct {
				URN, ID, Type string
				Custom        bool
				Outputs       map[string]any
			}
			Pending []any `json:"pending_operations"`
		}
	}
	if err := json.Unmarshal(text, &stack); err != nil {
		return nil, err
	}
	if len(stack.Deployment.Pending) > 0 {
		return nil, fmt.Errorf("the stack has pending operations: %v", stack.Deployment.Pending)
	}
	kinds := map[string]string{}
	for kind := range pulumi.side.schemas {
		kinds[pulumi.token(kind)] = kind
	}
	var all []resource
	for _, entry := range stack.Deployment.Resources {
		if !entry.Custom || strings.HasPrefix(entry.Type, "pulumi:") {
			continue
		}
		made := resource{kind: kinds[entry.Type], name: entry.URN[strings.LastIndex(entry.URN, "::")+2:], id: entry.ID, secret: map[string]bool{}}
		form := form{secret: made.secret, id: pulumi.name(made.kind) + "Id"}
		// What isthmus keeps for itself is no output.
		delete(entry.Outputs, "__meta")
		delete(entry.Outputs, "__pulumi_raw_state_delta")
		if _, found := entry.Outputs["id"]; !found {
			entry.Outputs["id"] = entry.ID
		}
		made.attributes = form.block(entry.Outputs, pulumi.side.schemas[made.kind], "")
		made.strange = form.strange
		all = append(all, made)
	}
	return all, nil
}
