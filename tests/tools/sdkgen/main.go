// Command sdkgen checks package schemas and generates their SDKs, as `pulumi package gen-sdk --local` does.
//
//	sdkgen OUT LANGUAGES SCHEMA...
//
// Each SCHEMA is a file NAME.json; its SDKs land in OUT/LANGUAGE/NAME. LANGUAGES are dotnet, go, java, nodejs and python, or some of
// them, joined by commas.
//
// The command line itself would need the host of each language, most of which are no Go modules and would have to be
// installed by hand. A host's own part in generating is small: it binds the schema that the command line sends, and calls the
// generator; that is done here, with the same libraries. Two things are stricter than there: a key that Pulumi does not
// know is an error, and so is each of the binder's warnings.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/blang/semver"
	"github.com/hashicorp/hcl/v2"
	dotnet "github.com/pulumi/pulumi-dotnet/pulumi-language-dotnet/v3/codegen"
	"github.com/pulumi/pulumi-java/pkg/codegen/java"
	golang "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

type files = map[string][]byte

// generators are the languages, by the names of their hosts: each knows its own block of the schema, and writes its SDK.
var generators = map[string]func(*schema.Package) (files, error){
	"nodejs": func(pkg *schema.Package) (files, error) {
		return nodejs.GeneratePackage("pulumi-language-nodejs", pkg, nil, nil, true, onlyOwn{})
	},
	"python": func(pkg *schema.Package) (files, error) {
		return python.GeneratePackage("pulumi-language-python", pkg, nil, onlyOwn{})
	},
	"go": func(pkg *schema.Package) (files, error) {
		return golang.GeneratePackage("pulumi-language-go", pkg, nil)
	},
	"dotnet": func(pkg *schema.Package) (files, error) {
		return dotnet.GeneratePackage("pulumi-language-dotnet", pkg, nil, nil)
	},
	"java": func(pkg *schema.Package) (files, error) {
		return java.GeneratePackage("pulumi-language-java", pkg, nil, nil, true, false)
	},
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: sdkgen OUT LANGUAGES SCHEMA...")
		os.Exit(2)
	}
	http.DefaultClient.Transport = noNetwork{}
	out, languages, failed := os.Args[1], strings.Split(os.Args[2], ","), false
	for _, file := range os.Args[3:] {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		folder := func(language string) string { return filepath.Join(out, language, name) }
		if err := generateAll(file, languages, folder); err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "sdkgen: %s: %v\n", file, err)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// generateAll writes the SDKs of one package, each into the folder that `folder` tells. It tells of every fault, not of the first.
func generateAll(file string, languages []string, folder func(language string) string) error {
	spec, err := read(file)
	if err != nil {
		return err
	}
	pkg, err := bind(spec, errorsAndWarnings)
	if err != nil {
		return err
	}
	// What the command line sends to a language's host is not the plugin's text but what was understood of it.
	sent, err := pkg.MarshalJSON()
	if err != nil {
		return fmt.Errorf("write it again: %w", err)
	}

	var (
		wait   sync.WaitGroup
		lock   sync.Mutex
		faults []error
	)
	for _, language := range languages {
		wait.Go(func() {
			if err := generate(sent, language, folder(language)); err != nil {
				lock.Lock()
				defer lock.Unlock()
				faults = append(faults, fmt.Errorf("%s: %w", language, err))
			}
		})
	}
	wait.Wait()
	return errors.Join(faults...)
}

func read(file string) (schema.PackageSpec, error) {
	var spec schema.PackageSpec
	text, err := os.ReadFile(file)
	if err != nil {
		return spec, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&spec); err != nil {
		return spec, fmt.Errorf("read it: %w", err)
	}
	return spec, nil
}

// bind fails on whatever `faults` finds among the things that there are to say against a schema.
func bind(spec schema.PackageSpec, faults func(hcl.Diagnostics) []error) (*schema.Package, error) {
	pkg, diagnostics, err := schema.BindSpec(spec, onlyOwn{}, schema.ValidationOptions{})
	if err := errors.Join(append(faults(diagnostics), err)...); err != nil {
		return nil, fmt.Errorf("bind it: %w", err)
	}
	return pkg, nil
}

// errorsAndWarnings is for the plugin's own text.
func errorsAndWarnings(diagnostics hcl.Diagnostics) (faults []error) {
	for _, diagnostic := range diagnostics {
		faults = append(faults, diagnostic)
	}
	return faults
}

// onlyErrors is for the command line's text: it writes a provider's reference to itself in a way that the binder warns of.
func onlyErrors(diagnostics hcl.Diagnostics) (faults []error) {
	for _, diagnostic := range diagnostics {
		if diagnostic.Severity == hcl.DiagError {
			faults = append(faults, diagnostic)
		}
	}
	return faults
}

// generate starts from the text, because a generator changes the package that it is given.
func generate(sent []byte, language, folder string) error {
	generator, found := generators[language]
	if !found {
		return errors.New("no language is called so")
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal(sent, &spec); err != nil {
		return fmt.Errorf("read what was sent: %w", err)
	}
	if language == "java" {
		// Java's host does so: files whose names differ by case alone cannot stand side by side everywhere.
		deduplicated, diagnostics, err := java.DeduplicateTypes(&spec)
		if err != nil || diagnostics.HasErrors() {
			return fmt.Errorf("make its types one: %w", errors.Join(err, diagnostics))
		}
		spec = *deduplicated
	}
	pkg, err := bind(spec, onlyErrors)
	if err != nil {
		return err
	}
	sdk, err := generator(pkg)
	if err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	if len(sdk) == 0 {
		return errors.New("generate: there are no files")
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, text := range sdk {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// onlyOwn is a loader of other packages, which packages of Terraform providers never refer to.
type onlyOwn struct{}

func (onlyOwn) LoadPackage(pkg string, _ *semver.Version) (*schema.Package, error) {
	return nil, refusal(pkg)
}

func (onlyOwn) LoadPackageV2(_ context.Context, descriptor *schema.PackageDescriptor) (*schema.Package, error) {
	return nil, refusal(descriptor.Name)
}

func (onlyOwn) LoadPackageReference(pkg string, _ *semver.Version) (schema.PackageReference, error) {
	return nil, refusal(pkg)
}

func (onlyOwn) LoadPackageReferenceV2(
	_ context.Context, descriptor *schema.PackageDescriptor,
) (schema.PackageReference, error) {
	return nil, refusal(descriptor.Name)
}

func refusal(pkg string) error {
	return fmt.Errorf("the schema refers to another package, '%s'", pkg)
}

// noNetwork answers for the network. .NET's generator fetches the package's logo, and nothing else is ever fetched.
type noNetwork struct{}

func (noNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.URL.Path, ".png") {
		return nil, errors.New("generators may fetch nothing but a logo")
	}
	logo := io.NopCloser(strings.NewReader("no picture"))
	return &http.Response{StatusCode: http.StatusOK, Body: logo, Request: request}, nil
}
