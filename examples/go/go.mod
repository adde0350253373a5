module pets

go 1.24

require (
	github.com/pulumi/pulumi-terraform-provider/sdks/go/random/v3 v3.0.0
	github.com/pulumi/pulumi/sdk/v3 v3.259.0
)

replace github.com/pulumi/pulumi-terraform-provider/sdks/go/random/v3 => ./sdks/random
