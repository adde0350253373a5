// Command example runs one step of the example in Go by the Automation API, and prints what came of it as JSON.
//
// It takes the place of the example's main.go, beside its pets.go; the program runs in this process, so that no language host is needed.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
)

// output is an output of the stack.
type output struct {
	Value  any  `json:"value"`
	Secret bool `json:"secret"`
}

func main() {
	printed, err := step(context.Background(), os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.Marshal(printed)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}

func step(ctx context.Context, name string) (map[string]any, error) {
	stack, err := auto.SelectStackInlineSource(ctx, "dev", "e2e", pets, auto.WorkDir("."))
	if err != nil {
		return nil, err
	}
	switch name {
	case "up":
		up, err := stack.Up(ctx, optup.ProgressStreams(os.Stderr))
		if err != nil {
			return nil, err
		}
		outputs := map[string]output{}
		for name, value := range up.Outputs {
			outputs[name] = output{value.Value, value.Secret}
		}
		return map[string]any{"changes": up.Summary.ResourceChanges, "outputs": outputs}, nil
	case "preview":
		preview, err := stack.Preview(ctx, optpreview.ProgressStreams(os.Stderr))
		if err != nil {
			return nil, err
		}
		return map[string]any{"changes": preview.ChangeSummary}, nil
	default:
		return nil, fmt.Errorf("there is no step %s", name)
	}
}
