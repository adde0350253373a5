# What a provider computes by the clock, of which only the distances are configured.

terraform {
  required_providers {
    time = { source = "hashicorp/time" }
  }
}

resource "time_rotating" "key" {
  rotation_days = 30
}

resource "time_static" "begin" {}

resource "time_offset" "end" {
  offset_days = 7
}
