"""Two resources of one provider, one of them with a secret: what a program may hold that comes from the Go bridge."""

import pulumi
import pulumi_random as random

import engine


def program() -> None:
    pet = random.Pet("pet", length=3)
    password = random.Password("password", length=16, min_special=2, keepers={"pet": pet.id})
    pulumi.export("pet", pet.id)
    pulumi.export("password", password.result)


if __name__ == "__main__":
    engine.run(program)
