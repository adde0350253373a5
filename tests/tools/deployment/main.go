// Command deployment checks the files in deploy/ by the libraries of the programs that read them: kustomize, the Kubernetes API's
// types, Prometheus, Compose, BuildKit and a library of container images.
//
//	deployment kubernetes METRICS DIRECTORY   builds a kustomization, decodes its objects strictly, and follows their references
//	deployment alerts METRICS FILE            reads alert rules
//	deployment dashboard METRICS FILE         reads the queries of a Grafana dashboard
//	deployment compose FILE                   loads a Compose file
//	deployment containerfile FILE             parses a Containerfile
//	deployment image LAYOUT DIRECTORY         verifies an image in an OCI layout, and unpacks its root file system
//
// METRICS is the page with the table of the daemon's metrics: other names and labels in a query are faults. What was read goes to standard output,
// as JSON, for tests to look at; faults go to standard error, a line each, and the exit code is 1 then.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// faults are what is wrong with a file.
type faults []string

func (found *faults) add(format string, arguments ...any) {
	*found = append(*found, fmt.Sprintf(format, arguments...))
}

func main() {
	read, found := run(os.Args[1:])
	if read != nil {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(read); err != nil {
			found.add("the result cannot be written: %v", err)
		}
	}
	for _, fault := range found {
		fmt.Fprintln(os.Stderr, fault)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

func run(arguments []string) (any, faults) {
	if len(arguments) == 3 {
		first, second := arguments[1], arguments[2]
		switch arguments[0] {
		case "kubernetes":
			return kubernetes(first, second)
		case "alerts":
			return alerts(first, second)
		case "dashboard":
			return dashboard(first, second)
		case "image":
			return image(first, second)
		}
	}
	if len(arguments) == 2 {
		switch arguments[0] {
		case "compose":
			return compose(arguments[1])
		case "containerfile":
			return containerfile(arguments[1])
		}
	}
	return nil, faults{"usage: see main.go"}
}
