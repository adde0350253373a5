# Values of dynamic types.

terraform {
  required_providers {
    conformance = { source = "isthmus/conformance" }
  }
}

variable "directory" {
  type = string
}

resource "conformance_dynamics" "texts" {
  any_needed = "a"
  any        = { kind = "k", list = [1, "a", true] }
  any_list   = ["a", "b"]
  any_map    = { x = 1, y = 2.5 }
  any_object = { kind = "k", value = [["x"], []] }
}

resource "conformance_dynamics" "numbers" {
  any_needed = 12
  any        = null
}
