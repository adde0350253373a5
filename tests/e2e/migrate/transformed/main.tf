# Values of which a state has another form, or none.

terraform {
  required_providers {
    conformance = { source = "isthmus/conformance" }
  }
}

# Its state has a hash of the text.
resource "conformance_legacy_planned" "hashed" {
  name   = "hashed"
  hashed = "plain text"
  seed   = "a"
}

# One of two must be set, and an empty text is as good as none in a state.
resource "conformance_legacy_constrained" "empty" {
  name         = "empty"
  exactly_one  = ""
  at_least_one = ""
}
