// Command pets is a Pulumi program with a pet and its password.
package main

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

func main() {
	pulumi.Run(pets)
}
