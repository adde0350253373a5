# Files by relative paths.

terraform {
  required_providers {
    local  = { source = "hashicorp/local" }
    random = { source = "hashicorp/random" }
  }
}

resource "local_file" "here" {
  filename = "./out/cfg.json"
  content  = "{}"
}

resource "local_file" "bare" {
  filename = "bare.txt"
  content  = random_pet.name.id
}

resource "random_pet" "name" {}
