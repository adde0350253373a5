# Objects that are in a state between two operations.

terraform {
  required_providers {
    conformance = { source = "isthmus/conformance" }
    random      = { source = "hashicorp/random" }
  }
}

variable "directory" {
  type = string
}

variable "name" {
  type    = string
  default = "first"
}

provider "conformance" {
  alias = "second"
}

resource "conformance_flaky" "replaced" {
  name = var.name

  lifecycle {
    create_before_destroy = true
  }
}

resource "conformance_record" "tainted" {
  provider = conformance.second
  name     = "tainted"
  secret   = "hush"
}

resource "conformance_versioned" "old" {
  name = "old"
}

resource "conformance_vault" "door" {
  name              = "door"
  secret_wo         = "behind the door"
  secret_wo_version = 1
}

data "conformance_lookup" "record" {
  name       = conformance_record.tainted.name
  depends_on = [conformance_record.tainted]
}

output "id" {
  value = conformance_flaky.replaced.id
}
