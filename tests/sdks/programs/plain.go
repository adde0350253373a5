package main

import (
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi-terraform-provider/sdks/go/local/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// pets reads a file by both forms of a function. It has the name of the program that example.go runs.
func pets(ctx *pulumi.Context) error {
	file, err := filepath.Abs("secret.txt")
	if err != nil {
		return err
	}
	found := local.LookupSensitiveFileOutput(ctx, local.LookupSensitiveFileOutputArgs{Filename: pulumi.String(file)})
	ctx.Export("output", found.Content())
	ctx.Export("id", found.Id())
	if os.Getenv("WITHOUT_PLAIN_FORM") != "" {
		return nil
	}
	plain, err := local.LookupSensitiveFile(ctx, &local.LookupSensitiveFileArgs{Filename: file})
	if err != nil {
		return err
	}
	ctx.Export("plain", pulumi.String(plain.Content))
	return nil
}
