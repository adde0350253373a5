terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}

variable "pet" {
  type = string
}

resource "random_pet" "inner" {
  prefix = var.pet
}

output "pet" {
  value = random_pet.inner.id
}
