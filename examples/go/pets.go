package main

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/pulumi/pulumi-terraform-provider/sdks/go/random/v3/random"
)

// pets declares a pet, and a password that is replaced when the pet is.
func pets(ctx *pulumi.Context) error {
	pet, err := random.NewPet(ctx, "pet", &random.PetArgs{Length: pulumi.Float64(2)})
	if err != nil {
		return err
	}
	password, err := random.NewPassword(ctx, "password", &random.PasswordArgs{
		Length:  pulumi.Float64(20),
		Keepers: pulumi.StringMap{"pet": pet.ID()},
	})
	if err != nil {
		return err
	}
	ctx.Export("name", pet.ID())
	ctx.Export("password", password.Result)
	return nil
}
