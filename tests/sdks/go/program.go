// Package program uses generated SDKs as a program does, for the compiler and `go vet` to judge; it is never run.
//
// Beside this file, when it is compiled, are the SDKs that go.mod names. A new version of what they need is taken by `go mod tidy`
// there, from where go.mod and go.sum are copied back.
package program

import (
	// What runs the example in Go needs it (tests/sdks/programs/example.go).
	_ "github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/pulumi/pulumi-terraform-provider/sdks/go/conformance/conformance"
	"github.com/pulumi/pulumi-terraform-provider/sdks/go/conformance/conformance/config"
	"github.com/pulumi/pulumi-terraform-provider/sdks/go/conformance5/conformance5"
	"github.com/pulumi/pulumi-terraform-provider/sdks/go/local/local"
	"github.com/pulumi/pulumi-terraform-provider/sdks/go/random/random"
	"github.com/pulumi/pulumi-terraform-provider/sdks/go/time/time"
	"github.com/pulumi/pulumi-terraform-provider/sdks/go/tls/tls"
)

// Program declares one resource or more of each package.
func Program(ctx *pulumi.Context) error {
	pet, err := random.NewPet(ctx, "pet", &random.PetArgs{Length: pulumi.Float64(2)})
	if err != nil {
		return err
	}
	key, err := tls.NewPrivateKey(ctx, "key", &tls.PrivateKeyArgs{Algorithm: pulumi.String("ED25519")})
	if err != nil {
		return err
	}
	_, err = tls.NewSelfSignedCert(ctx, "certificate", &tls.SelfSignedCertArgs{
		PrivateKeyPem:       key.PrivateKeyPem,
		AllowedUses:         pulumi.ToStringArray([]string{"digital_signature"}),
		ValidityPeriodHours: pulumi.Float64(12),
		Subjects:            tls.SelfSignedCertSubjectArray{tls.SelfSignedCertSubjectArgs{CommonName: pulumi.String("isthmus")}},
	})
	if err != nil {
		return err
	}
	later, err := time.NewOffset(ctx, "later", &time.OffsetArgs{OffsetDays: pulumi.Float64(9)})
	if err != nil {
		return err
	}
	_, err = local.NewFile(ctx, "file", &local.FileArgs{Filename: pulumi.String("pet.txt"), Content: later.Rfc3339})
	if err != nil {
		return err
	}
	objects, err := conformance.NewProvider(ctx, "objects", &conformance.ProviderArgs{
		Directory: pulumi.String("objects"),
		Region:    pulumi.String(config.GetRegion(ctx)),
	})
	if err != nil {
		return err
	}
	record, err := conformance.NewRecord(ctx, "record", &conformance.RecordArgs{
		Name:  pulumi.String("record"),
		Tags:  pulumi.StringMap{"pet": pet.ID()},
		Extra: pulumi.Map{"list": pulumi.ToStringArray([]string{"x"})},
		Rules: conformance.RecordRuleArray{conformance.RecordRuleArgs{Port: pulumi.Float64(80)}},
	}, pulumi.Provider(objects))
	if err != nil {
		return err
	}
	_, err = conformance5.NewLegacy(ctx, "legacy", &conformance5.LegacyArgs{
		Name:    pulumi.String("legacy"),
		Network: conformance5.LegacyNetworkArgs{Cidr: pulumi.String("10.0.0.0/8")},
	})
	if err != nil {
		return err
	}
	found := conformance.GetLookupOutput(ctx, conformance.GetLookupOutputArgs{Name: record.Name})
	ctx.Export("found", found.Name())
	return nil
}
