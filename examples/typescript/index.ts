// A pet, and a password that is replaced when the pet is.

import * as random from "@pulumi/random";

const pet = new random.Pet("pet", { length: 2 });
const secret = new random.Password("password", { length: 20, keepers: { pet: pet.id } });

export const name = pet.id;
export const password = secret.result;
