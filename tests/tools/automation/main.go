// Previews a stack by the Automation API, as a program of a user does: automation DIRECTORY STACK.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
)

func main() {
	if err := preview(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func preview(ctx context.Context, directory, name string) error {
	stack, err := auto.SelectStackLocalSource(ctx, name, directory)
	if err != nil {
		return err
	}
	_, err = stack.Preview(ctx, optpreview.ProgressStreams(os.Stdout), optpreview.ErrorProgressStreams(os.Stderr))
	return err
}
