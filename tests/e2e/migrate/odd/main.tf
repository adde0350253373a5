# Objects without the name that they might have, numbers of dynamic types, and a provider whose alias has a meaning in Pulumi.

terraform {
  required_providers {
    conformance = { source = "isthmus/conformance" }
    local       = { source = "hashicorp/local" }
  }
}

variable "directory" {
  type = string
}

provider "conformance" {
  alias = "pulumi"
}

resource "conformance_name_optional" "nameless" {
  provider = conformance.pulumi
}

resource "conformance_reserved" "nameless" {}

resource "conformance_dynamics" "fractions" {
  any_needed = { a = 1.5, b = "x" }
  any        = { map = tomap({ a = "1" }), list = [1, "2", true, null] }
  any_secret = { a = 1.5, b = "hush", c = -0, d = 1e300, e = [true, 7] }
}

resource "conformance_dynamics" "digits" {
  any_needed = 12345678901234567890.5
  any        = { deep = [{ n = 0.12345678901234567890 }], other = "x" }
  any_secret = { n = 12345678901234567890 }
}

resource "conformance_kinds" "digits" {
  number     = 123456789012345678901234567890.123
  number_map = { "" = 0, "$${a}" = 12345678901234567890, " x" = 1.5 }
}

resource "conformance_kinds" "secret" {
  number      = sensitive(123456789012345678901.5)
  number_list = [sensitive(0.5), 1, sensitive(-7)]
  number_map  = sensitive({ a = 0.0000001, b = 3 })
  truth       = sensitive(true)
}

resource "local_sensitive_file" "secret" {
  for_each = { account = "{\"a\":1}", digits = "9007199254740993", word = "true", line = "a\u2028\n" }

  content  = each.value
  filename = "${var.directory}/${each.key}"
}
