# What a program can have in place of literals, and what it cannot.

terraform {
  required_providers {
    conformance = { source = "isthmus/conformance" }
    local       = { source = "hashicorp/local" }
    random      = { source = "hashicorp/random" }
  }
}

provider "conformance" {
  alias  = "north"
  region = "north"
}

variable "directory" {
  type = string
}

locals {
  first = random_pet.a.id
}

resource "random_pet" "a" {
  length = 1
}

resource "random_pet" "counted" {
  count  = 2
  prefix = "${random_pet.a.id}$${x}-${count.index}"
}

resource "random_password" "secret" {
  length = 12
}

resource "local_sensitive_file" "secret" {
  filename = "${var.directory}/secret"
  content  = random_password.secret.result
}

resource "local_file" "upper" {
  filename = "${var.directory}/upper"
  content  = upper(random_pet.a.id)
}

resource "conformance_diary" "north" {
  provider = conformance.north
  name     = local.first
  value    = random_pet.counted[1].id
}

module "site" {
  source   = "./site"
  for_each = toset(["eu"])
  pet      = "${each.key}-${local.first}"
}

output "pet" {
  value = module.site["eu"].pet
}

output "upper" {
  value = upper(random_pet.a.id)
}
