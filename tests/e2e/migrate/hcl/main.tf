# A project that stays in HCL: modules in modules, `count`, `for_each`, a secret, a provider with an alias.

terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}

provider "random" {
  alias = "other"
}

resource "random_password" "key" {
  length = 12
}

resource "random_pet" "counted" {
  count  = 2
  length = 2
}

resource "random_pet" "elsewhere" {
  provider = random.other
  keepers  = sensitive({ word = "hunter2" })
}

module "team" {
  source   = "./modules/my-team"
  for_each = toset(["a", "b"])
  size     = 3
}

output "key" {
  value     = random_password.key.result
  sensitive = true
}
