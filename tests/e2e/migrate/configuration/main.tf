# Sixty resources, in every form that a configuration gives to a state.

terraform {
  required_providers {
    conformance = { source = "isthmus/conformance" }
    local       = { source = "hashicorp/local" }
    random      = { source = "hashicorp/random" }
    time        = { source = "hashicorp/time" }
    tls         = { source = "hashicorp/tls" }
  }
}

provider "random" {
  alias = "second"
}

variable "directory" {
  type = string
}

locals {
  zones = { "eu/west 1" = 1, "us $${x}" = 2, plain = 3 }
}

# count: 10
resource "random_pet" "counted" {
  count  = 10
  length = count.index % 3 + 1
  prefix = "pet$${count.index}"
}

# for_each with keys that are no names: 3
resource "random_integer" "zone" {
  for_each = local.zones
  min      = each.value
  max      = 100
  keepers  = { zone = each.key, empty = "" }
}

# sensitive results, a dependency on all instances, an alias: 8
resource "random_password" "secret" {
  count            = 3
  length           = 20
  override_special = "$_%@"
  lower            = count.index != 1
  depends_on       = [random_pet.counted]
}

resource "random_string" "aliased" {
  count    = 3
  provider = random.second
  length   = 8
  special  = false
}

resource "random_id" "bytes" {
  byte_length = 4
  keepers     = { pet = random_pet.counted[0].id }
}

resource "random_uuid" "same" {}

# equal names of different types: 3
resource "random_shuffle" "same" {
  input        = ["a", "b", "", "d"]
  result_count = 2
}

resource "time_static" "same" {
  rfc3339 = "2024-02-29T12:00:00Z"
}

resource "time_offset" "later" {
  base_rfc3339 = time_static.same.rfc3339
  offset_days  = 0
  offset_hours = 36
}

# nested blocks, private keys: 4
resource "tls_private_key" "authority" {
  algorithm = "ED25519"
}

resource "tls_self_signed_cert" "authority" {
  private_key_pem       = tls_private_key.authority.private_key_pem
  is_ca_certificate     = true
  validity_period_hours = 87600
  allowed_uses          = ["cert_signing", "digital_signature"]

  subject {
    common_name  = "isthmus"
    organization = "tests"
  }
}

resource "tls_cert_request" "site" {
  private_key_pem = tls_private_key.authority.private_key_pem
  dns_names       = ["site.example"]

  subject {
    common_name = "site.example"
  }
}

resource "tls_locally_signed_cert" "site" {
  cert_request_pem      = tls_cert_request.site.cert_request_pem
  ca_private_key_pem    = tls_private_key.authority.private_key_pem
  ca_cert_pem           = tls_self_signed_cert.authority.cert_pem
  validity_period_hours = 87600
  allowed_uses          = ["server_auth"]
}

# sensitive inputs, also by reference: 4
resource "local_sensitive_file" "password" {
  filename        = "${var.directory}/password"
  content         = random_password.secret[0].result
  file_permission = "0600"
}

resource "local_file" "note" {
  count    = 2
  filename = "${var.directory}/note-${count.index}"
  content  = "note $${count.index} $$ \"quoted\"\nwith lines\n"
}

resource "local_file" "marked" {
  filename = "${var.directory}/marked"
  content  = sensitive("marked in the configuration")
}

# the framework and the older SDK; private data, identities, timeouts, blocks: 14
resource "conformance_record" "one" {
  name   = "one"
  title  = ""
  labels = ["b", "a"]
  tags   = { empty = "", k = "v" }
  secret = "hush"
  extra  = { list = [1, "two"], on = true }

  rule {
    port = 443
  }
  rule {
    port     = 53
    protocol = "udp"
  }
  grant {
    who = "everyone"
  }
  settings {
    mode    = "fast"
    quota   = 0
    verbose = false
  }
  timeouts = {
    create = "20m"
    delete = "10m"
  }
}

resource "conformance_nested" "one" {
  name  = "one"
  owner = { name = "somebody", key = "key" }
  disks = [
    { size = 1, partitions = [{ path = "/" }, { path = "/var" }] },
    { size = 0, label = "" },
  ]
  mounts = [{ path = "/a" }, { path = "/b", mode = "ro" }]
  zones  = { "z 1" = { weight = 5 }, z2 = {} }
}

resource "conformance_legacy" "one" {
  name    = "one"
  enabled = false
  size    = 0
  tags    = { k = "" }

  network {
    cidr = "10.0.0.0/8"
  }
  rule {
    port = 80
  }
  rule {
    port     = 53
    protocol = "udp"
  }
  timeouts {
    create = "11m"
    delete = "12m"
  }
}

resource "conformance_legacy" "bare" {
  name = "bare"
}

resource "conformance_legacy_timed" "one" {
  name  = "one"
  value = "v"

  timeouts {
    default = "31m"
  }
}

resource "conformance_timed_block" "one" {
  name = "one"

  timeouts {
    update = "13m"
  }
}

resource "conformance_legacy_shapes" "one" {
  name_prefix = "shape-"
  counts      = { a = 0, b = 2 }
  grid        = [["a"], []]
  secret      = "hush too"

  at_least {
    label = "first"
  }
  at_most {
    label = "only"

    inner_set {
      label = "in"
    }
  }
}

resource "conformance_diary" "one" {
  name  = "one"
  value = "private"
}

resource "conformance_flaky" "one" {
  name  = "one"
  parts = ["a", "b"]
}

resource "conformance_passport" "one" {
  name     = "one"
  official = false
  places   = ["here"]
  weight   = 12345678901234567
}

resource "conformance_place" "one" {
  name = "one"
  note = "identity"
}

resource "conformance_versioned" "one" {
  name   = "one"
  title  = "t"
  size   = 3
  labels = ["x"]
}

resource "conformance_block_list" "one" {
  name = "one"

  plain {
    text = "t"
  }
}

resource "conformance_block_list" "same" {
  name = "same"
}

# modules, by for_each and within each other: 2 x 7
module "site" {
  source    = "./site"
  for_each  = toset(["eu", "us"])
  name      = each.key
  directory = var.directory
}
