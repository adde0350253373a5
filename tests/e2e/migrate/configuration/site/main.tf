# A module of seven resources.

terraform {
  required_providers {
    conformance = { source = "isthmus/conformance" }
    local       = { source = "hashicorp/local" }
    random      = { source = "hashicorp/random" }
  }
}

variable "name" {
  type = string
}

variable "directory" {
  type = string
}

resource "random_pet" "counted" {
  count     = 2
  separator = "_"
}

resource "random_id" "bytes" {
  for_each    = toset(["a", "b"])
  byte_length = 2
  prefix      = "${random_pet.counted[0].id}-"
}

resource "local_file" "ids" {
  filename = "${var.directory}/ids-${var.name}"
  content  = join(",", [for key, id in random_id.bytes : id.hex])
}

resource "conformance_diary" "one" {
  name = var.name
}

resource "conformance_record" "after" {
  name       = "after-${var.name}"
  title      = conformance_diary.one.fresh
  depends_on = [local_file.ids]
}
