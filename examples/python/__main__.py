"""A pet, and a password that is replaced when the pet is."""

import pulumi
import pulumi_random as random

pet = random.Pet("pet", length=2)
password = random.Password("password", length=20, keepers={"pet": pet.id})

pulumi.export("name", pet.id)
pulumi.export("password", password.result)
