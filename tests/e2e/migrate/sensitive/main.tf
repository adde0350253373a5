# Values that only the configuration calls sensitive, of resources whose provider generates configuration and of others.

terraform {
  required_providers {
    conformance = { source = "isthmus/conformance" }
    random      = { source = "hashicorp/random" }
  }
}

variable "directory" {
  type = string
}

resource "conformance_record" "generated" {
  # Its id is made of it, and ids are no secrets in Pulumi.
  name = "plain"
  tags = sensitive({ purpose = "hunter2-tag" })

  grant {
    who = sensitive("hunter2-who")
  }

  rule {
    port = sensitive(42424)
  }
}

resource "random_pet" "derived" {
  keepers = sensitive({ purpose = "hunter2-keeper" })
}
